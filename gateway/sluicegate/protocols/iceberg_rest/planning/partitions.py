"""Values of the distinct partitions of a table: typed for decisions, and as JSON for tasks."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import orjson

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import Json
from sluicegate.protocols.iceberg_rest.planning.expressions.values import Kind, kind_of
from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.tables.declaration import SPEC
from sluicegate.tables.iceberg.identity import IDENTITY
from sluicegate.tables.iceberg.shape import IcebergShape, OwnMetadata, PartitionField, Spec, SpecField

_DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
_INT, _LONG = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)
_LONGS = ("long", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")
_RANGES: Final = {"int": _INT, "date": _INT, **dict.fromkeys(_LONGS, _LONG)}


@dataclass(frozen=True, slots=True)
class OwnPartition:
    """The partition of a file.

    Attributes:
        values: The value of each field: numbers of days and microseconds for dates and times.
    """

    spec: Spec
    values: tuple[Any, ...]

    def json(self) -> list[Any]:
        """The values as JSON single values."""
        fields = zip(self.spec.fields, self.values, strict=True)
        return [None if value is None else _single_value(field.type, value) for field, value in fields]


class OwnPartitions:
    """Reads the partitions of a table."""

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
    """The value that a text means."""
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


_AS_THEY_ARE = frozenset(
    ("boolean", "int", "long", "string", "double", "date", "timestamp", "timestamptz")
)
_NOTHING: Mapping[int, Sequence[Json]] = {}


class PartitionReader:
    """Reads the partition values of a snapshot."""

    def __init__(
        self,
        shape: IcebergShape,
        dialect: Dialect = Dialect.STANDARD,
        compared: Mapping[int, Sequence[Json]] = _NOTHING,
    ) -> None:
        self._dialect = dialect
        self._shape = shape
        self._all_fields = spec_without((), shape)
        self._compared = compared
        self._own = None if shape.own is None else OwnPartitions(shape.own)
        self._fields: Sequence[tuple[PartitionField, Kind | None]] = [
            (field, kind_of(str(field.source.type))) for field in shape.partition_fields
        ]

    def values(self, text: str, places: Iterable[int]) -> dict[int, Any]:
        """Some values of a partition by their places. `None` for null."""
        partition = orjson.loads(text)
        return {place: self._value(partition, place)[0] for place in places}

    def members(self, text: str) -> bytes:
        """The members `spec-id` and `partition` of the files in a partition; raises as `values`."""
        if self._own is not None:
            return self._own_members(self._own, text)
        partition, spec = orjson.loads(text), self._all_fields
        values = [self._json_value(partition, place) for place in range(len(self._fields))]
        if self._dialect is Dialect.PYICEBERG and None in values:
            missing = [place for place, value in enumerate(values) if value is None]
            spec = spec_without(missing, self._shape)
            values = [value for value in values if value is not None]
        written = json.dumps(values, separators=(",", ":"))  # orjson refuses large decimals as integers
        return b'"spec-id":%d,"partition":%b' % (spec, written.encode())

    def _own_members(self, own: OwnPartitions, text: str) -> bytes:
        """The same for files that contain all columns. PyIceberg needs no partition to read them."""
        found = own.none if self._dialect is Dialect.PYICEBERG else own.of(text)
        try:
            values = found.json()
        except ValueError:
            found, values = own.none, []
        return b'"spec-id":%d,"partition":%b' % (found.spec.id, json.dumps(values).encode())

    def _value(self, partition: dict[str, str | None], place: int) -> tuple[Any, Kind]:
        field, kind = self._fields[place]
        text = partition.get(field.key)
        if kind is None:
            raise _inexpressible(field, text)
        if not text:  # the log writes an empty text for null, too
            return None, kind
        try:
            return kind.of_partition(text), kind
        except ValueError:
            raise _inexpressible(field, text) from None

    def _json_value(self, partition: dict[str, str | None], place: int) -> Any:
        value, kind = self._value(partition, place)
        if value is None:
            return None
        field = self._fields[place][0]
        try:
            written = kind.single_value(value)
            if self._dialect is not Dialect.PYICEBERG:
                return written
            if field.source.type == "float":
                return _as_compared(kind, value, self._compared.get(place, ()), written)
            return _unconverted(str(field.source.type), value)
        except ValueError:
            raise _inexpressible(field, partition.get(field.key)) from None


def _unconverted(type_: str, value: Any) -> Any:
    """A JSON value that is the value of the column in PyIceberg without a conversion."""
    if type_ in _AS_THEY_ARE:
        return value
    if type_.startswith("decimal") and value == int(value):
        return int(value)
    raise ValueError("PyIceberg would need a conversion")


def _as_compared(kind: Kind, value: Any, literals: Sequence[Json], written: Any) -> Any:
    """A number of single precision as the literal that means it, or else as it is written.

    PyIceberg compares both as doubles, in which 0.1 and its single precision differ.
    """
    return next((float(each) for each in literals if kind.of_literal(each) == value), written)


def _inexpressible(field: PartitionField, text: str | None) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"the table has a partition whose value of {field.source.name!r} this Iceberg client cannot "
        f"read as {field.source.type}: use another client or protocol",
        detail=repr(text),
    )
