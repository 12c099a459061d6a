"""Identity partitions of Iceberg tables: their columns, and values as filters name them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import orjson

from sluicegate._util.lru import cached_by_text
from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.declaration import IcebergDeclaration

IDENTITY: Final = "identity"
_FIRST_DAY = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class IdentityColumn:
    """A column by whose values files are partitioned."""

    key: str
    written: Callable[[str], str]


def identity_column(declaration: IcebergDeclaration, name: str) -> IdentityColumn | None:
    """The column of a name, which is case-insensitive.

    Returns:
        `None` if no spec of the table partitions by its values, or if they have no text.
    """
    return _columns(declaration.schema, declaration.specs).get(name.casefold())


@cached_by_text
def _columns(schema: str, specs: str) -> Mapping[str, IdentityColumn]:
    try:
        sources = {
            field["source-id"]
            for spec in orjson.loads(specs)
            for field in spec["fields"]
            if field["transform"] == IDENTITY
        }
        fields = orjson.loads(schema)["fields"]
        return {
            field["name"].casefold(): IdentityColumn(f"={field['id']}", written)
            for field in fields
            if field["id"] in sources and (written := _writer(field["type"])) is not None
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableUnreadable("the table declares a malformed schema", detail=repr(error)) from error


def _writer(type_: Any) -> Callable[[str], str] | None:
    """What writes the values of a type. Times have several texts, so that none of them is compared."""
    if not isinstance(type_, str):
        return None
    if type_.startswith("decimal"):
        scale = int(type_.rstrip(")").rpartition(",")[2])
        return lambda text: _decimal(text, scale)
    return _WRITERS.get(type_)


def _decimal(text: str, scale: int) -> str:
    unscaled = int.from_bytes(bytes.fromhex(text), "big", signed=True)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return f"{'-' if unscaled < 0 else ''}{whole}{'.' if scale else ''}{fraction}"


def _date(text: str) -> str:
    try:
        return (_FIRST_DAY + timedelta(days=int(text))).isoformat()
    except OverflowError:
        raise ValueError("a date outside of the years 1 to 9999") from None


def _same(text: str) -> str:
    return text


_WRITERS: Mapping[str, Callable[[str], str]] = {
    "boolean": _same,
    "int": _same,
    "long": _same,
    "string": _same,
    "date": _date,
    "uuid": lambda text: str(uuid.UUID(hex=text)),
}
