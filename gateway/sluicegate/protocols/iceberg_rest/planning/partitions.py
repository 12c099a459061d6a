"""Values of the distinct partitions of a table: typed for decisions, and as JSON for tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.iceberg_rest.planning.expressions.values import Kind, kind_of
from sluicegate.tables.iceberg.shape import IcebergShape, PartitionField

SPEC_ID = 0


class PartitionReader:
    """Reads the partition values of a snapshot.

    Args:
        shape: The shape of the table at the snapshot's version.
    """

    def __init__(self, shape: IcebergShape) -> None:
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
        partition = orjson.loads(text)
        values = [self._single_value(partition, place) for place in range(len(self._fields))]
        return b'"spec-id":%d,"partition":%b' % (SPEC_ID, orjson.dumps(values))

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

    def _single_value(self, partition: dict[str, str | None], place: int) -> Any:
        value, kind = self._value(partition, place)
        try:
            return None if value is None else kind.single_value(value)
        except ValueError:
            field = self._fields[place][0]
            raise _inexpressible(field, partition.get(field.key)) from None


def _inexpressible(field: PartitionField, text: str | None) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"the table has a partition whose value of {field.source.name!r} Iceberg clients cannot read "
        f"as {field.source.type}: use another protocol",
        detail=repr(text),
    )
