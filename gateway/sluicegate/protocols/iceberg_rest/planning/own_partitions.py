"""Partitions of the files of Iceberg tables, as `IcebergDeclaration` describes their texts.

A file whose partition clients cannot read is listed without one: its rows are the same, because data
files of Iceberg tables contain all columns.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import orjson

from sluicegate.protocols.iceberg_rest.planning.expressions.values import kind_of
from sluicegate.tables.declaration import SPEC
from sluicegate.tables.iceberg.identity import IDENTITY
from sluicegate.tables.iceberg.shape import OwnMetadata, Spec, SpecField

_DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
_INT, _LONG = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)
_LONGS = ("long", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")
_RANGES: Final = {"int": _INT, "date": _INT, **dict.fromkeys(_LONGS, _LONG)}


@dataclass(frozen=True, slots=True)
class OwnPartition:
    """The partition of a file.

    Attributes:
        spec: Its spec.
        values: The value of each field: numbers of days and microseconds for dates and times.
    """

    spec: Spec
    values: tuple[Any, ...]

    def json(self) -> list[Any]:
        """The values as JSON single values.

        Raises:
            ValueError: JSON has no such value.
        """
        fields = zip(self.spec.fields, self.values, strict=True)
        return [None if value is None else _single_value(field.type, value) for field, value in fields]


class OwnPartitions:
    """Reads the partitions of a table.

    Args:
        own: The table's metadata.
    """

    def __init__(self, own: OwnMetadata) -> None:
        self._specs: Mapping[str, Spec] = {str(spec.id): spec for spec in own.specs}
        self.none: Final = OwnPartition(self._specs[str(own.unpartitioned)], ())
        self._read: dict[str, OwnPartition] = {}

    def of(self, text: str) -> OwnPartition:
        """The partition with a text."""
        found = self._read.get(text)
        if found is None:
            found = self._read[text] = self._parsed(text)
        return found

    def _parsed(self, text: str) -> OwnPartition:
        values = orjson.loads(text)
        spec = self._specs.get(values.get(SPEC))
        if spec is None:
            return self.none
        try:
            return OwnPartition(spec, tuple(_value(field, values) for field in spec.fields))
        except (KeyError, ValueError, OverflowError):
            return self.none


def _value(field: SpecField, values: Mapping[str, str | None]) -> Any:
    identity = field.transform == IDENTITY
    text = values[f"={field.source_id}" if identity else str(field.id)]
    return None if text is None else typed_value(field.type, text)


def typed_value(type_: str, text: str) -> Any:
    """The value that a text means.

    Raises:
        ValueError: The type does not have it.
    """
    if (numbers := _RANGES.get(type_)) is not None:
        number = int(text)
        if number not in numbers:
            raise ValueError("out of range")
        return number
    if decimal := _DECIMAL.fullmatch(type_):
        return _decimal(bytes.fromhex(text), int(decimal[1]), int(decimal[2]))
    if type_.startswith("fixed"):
        return _of_size(bytes.fromhex(text), int(type_[len("fixed[") : -1]))
    return _PARSERS[type_](text)


def _decimal(unscaled: bytes, precision: int, scale: int) -> Decimal:
    number = int.from_bytes(unscaled, "big", signed=True)
    if abs(number) >= 10**precision:
        raise ValueError("too many digits")
    sign, digits = int(number < 0), tuple(map(int, str(abs(number))))
    return Decimal((sign, digits, -scale))


def _of_size(value: bytes, size: int) -> bytes:
    if len(value) != size:
        raise ValueError("another size")
    return value


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "float": float,
    "double": float,
    "string": str,
    "binary": bytes.fromhex,
    "uuid": lambda text: uuid.UUID(hex=text),
}


def _single_value(type_: str, value: Any) -> Any:
    """A JSON single value (Iceberg specification, "JSON single-value serialization")."""
    kind = kind_of("binary" if type_.startswith("fixed") else type_)
    if kind is None or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("a time, nanoseconds, or a number that JSON does not have")
    return kind.single_value(value)
