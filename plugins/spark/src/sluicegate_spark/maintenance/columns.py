"""Columns that a payload names: they are the table's, and stand in statements with quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, BeforeValidator

from sluicegate.api import TaskFailed
from sluicegate_spark.maintenance.sql import identifier

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

Path = tuple[str, ...]

_LONGEST: Final = 4096
_SHOWN: Final = 20
_PART: Final = r"(?:`(?:[^`]|``)+`|[^\W\d]\w*)"
_NAME: Final = rf"{_PART}(?:\.{_PART})*"
_TERM: Final = re.compile(
    rf"\s*(?P<name>{_NAME})(?:\s+(?P<way>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*(?P<end>,|$)",
    re.IGNORECASE,
)
_ZORDER: Final = re.compile(r"\s*zorder\s*\((?P<names>.*)\)\s*", re.IGNORECASE | re.DOTALL)
_SHAPE: Final = "expected zorder(a, b), or a DESC NULLS LAST, b; unusual names are in backticks"


def sort_order_sql(text: str) -> str:
    """A sort order, written again with its names quoted.

    Raises:
        ValueError: It is none.
    """
    if (clustered := _ZORDER.fullmatch(text)) is not None:
        terms = list(_terms(clustered["names"]))
        if any(each["way"] or each["nulls"] for each in terms):
            raise ValueError(_SHAPE)
        return f"zorder({', '.join(_quoted(each) for each in terms)})"
    return ", ".join(_ordered(each) for each in _terms(text))


def names_in(sort_order: str) -> tuple[Path, ...]:
    """The columns of a sort order that `sort_order_sql` has written."""
    if not sort_order:
        return ()
    clustered = _ZORDER.fullmatch(sort_order)
    terms = _terms(sort_order if clustered is None else clustered["names"])
    return tuple(_path(each["name"]) for each in terms)


def column_names(text: str) -> tuple[Path, ...]:
    """Names of columns with commas between them; those of fields within others have dots.

    Raises:
        ValueError: They are none.
    """
    found = list(_terms(text))
    if any(each["way"] or each["nulls"] for each in found):
        raise ValueError("expected names of columns with commas between them")
    return tuple(_path(each["name"]) for each in found)


Columns = Annotated[
    tuple[Path, ...],
    BeforeValidator(lambda text: column_names(text) if isinstance(text, str) else text),
]
"""Columns of a table, as `column_names` reads them."""

SortOrder = Annotated[str, AfterValidator(sort_order_sql)]
"""What Iceberg's `sort_order` takes, without any function but `zorder`."""


def check_columns(schema: StructType, paths: Iterable[Path], place: str) -> None:
    """Refuse names that are no columns: Spark would look for functions that have them.

    Raises:
        TaskFailed: The table has no such column (`INVALID_PAYLOAD`).
    """
    for path in paths:
        found: DataType | None = schema
        for part in path:
            found = _field(found, part)
            if found is None:
                known = ", ".join(schema.names[:_SHOWN])
                raise unfit(f"'{place}': the table has no column {identifier(*path)}; it has {known}")


def check_partition_columns(columns: Sequence[str], paths: Iterable[Path], place: str) -> None:
    """Refuse columns that a table is not partitioned by.

    Raises:
        TaskFailed: There is one (`INVALID_PAYLOAD`).
    """
    known = {name.lower() for name in columns}
    for path in paths:
        if len(path) > 1 or path[0].lower() not in known:
            said = f"only {', '.join(columns)} can be used" if columns else "it has none"
            raise unfit(f"'{place}': {identifier(*path)} is no partition column of the table; {said}")


def unfit(why: str) -> TaskFailed:
    """The failure of a task whose payload does not fit its table."""
    return TaskFailed(f"properties: {why}", error_code="INVALID_PAYLOAD")


def _field(parent: DataType | None, name: str) -> DataType | None:
    """The type of a field; Spark does not tell upper from lower case."""
    fields = getattr(parent, "fields", ())
    return next((each.dataType for each in fields if each.name.lower() == name.lower()), None)


def _terms(text: str) -> Iterator[re.Match[str]]:
    if len(text) > _LONGEST:
        raise ValueError(f"has {len(text):,} characters; at most {_LONGEST:,} are allowed")
    position, end = 0, ","
    while end:
        term = _TERM.match(text, position)
        if term is None:
            raise ValueError(f"not understood from character {position + 1} on: {_SHAPE}")
        yield term
        position, end = term.end(), term["end"]


def _ordered(term: re.Match[str]) -> str:
    nulls = f"NULLS {term['nulls']}" if term["nulls"] else None
    return " ".join(filter(None, (_quoted(term), term["way"], nulls)))


def _quoted(term: re.Match[str]) -> str:
    return identifier(*_path(term["name"]))


def _path(name: str) -> Path:
    return tuple(
        part[1:-1].replace("``", "`") if part.startswith("`") else part
        for part in re.findall(_PART, name)
    )
