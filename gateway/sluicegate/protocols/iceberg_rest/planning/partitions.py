"""Values of the distinct partitions of a table: typed for decisions, and as JSON for tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.iceberg_rest.planning.dialects import Dialect
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import Json
from sluicegate.protocols.iceberg_rest.planning.expressions.values import Kind, kind_of
from sluicegate.protocols.iceberg_rest.planning.own_partitions import OwnPartitions
from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.tables.iceberg.shape import IcebergShape, PartitionField

_AS_THEY_ARE = frozenset(
    ("boolean", "int", "long", "string", "double", "date", "timestamp", "timestamptz")
)
_NOTHING: Mapping[int, Sequence[Json]] = {}


class PartitionReader:
    """Reads the partition values of a snapshot.

    Args:
        shape: The shape of the table at the snapshot's version.
        dialect: How the client reads partition values.
        compared: The literals that the client compares with the values, by places.
    """

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
        """Some values of a partition by their places. `None` for null.

        Raises:
            UnsupportedOperation: A value is not one of its column's type.
        """
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
