"""Partition specs of a table's metadata: one with all fields, and others with fewer of them.

PyIceberg up to 0.12 refuses null in the partition of a task. A file with nulls then has a spec without
these fields, so that PyIceberg reads their columns as null. Other clients get the spec with all fields.

If one of the specs has no fields, Spark tests all filters itself, also those that plans decide
(Iceberg documentation, `ExpressionUtil.selectsPartitions`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.iceberg.shape import IcebergShape

_MOST_FIELDS = 6


def spec_without(missing: Collection[int], fields: int) -> int:
    """The id of the spec that lacks some fields. The spec 0 has all of them.

    Args:
        missing: Places of the fields.
        fields: Number of partition fields of the table.

    Raises:
        UnsupportedOperation: The table has more fields than specs are listed for.
    """
    if fields > _MOST_FIELDS and len(missing) < fields:
        raise UnsupportedOperation(
            f"PyIceberg cannot read null in partitions of more than {_MOST_FIELDS} columns: "
            "use another client or protocol"
        )
    return sum(1 << place for place in missing)


def partition_specs(shape: IcebergShape) -> list[Mapping[str, Any]]:
    """The `partition-specs` of a table's metadata (Iceberg specification, "Partition Specs")."""
    fields = [
        {
            "field-id": field.id,
            "source-id": field.source.id,
            "name": field.source.name,
            "transform": "identity",
        }
        for field in shape.partition_fields
    ]
    without_all = (1 << len(fields)) - 1
    few = len(fields) <= _MOST_FIELDS
    numbers: Iterable[int] = range(without_all + 1) if few else (0, without_all)
    return [
        {
            "spec-id": number,
            "fields": [field for place, field in enumerate(fields) if not number >> place & 1],
        }
        for number in numbers
    ]
