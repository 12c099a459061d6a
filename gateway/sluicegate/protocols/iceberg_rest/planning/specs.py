"""Partition specs of a table's metadata: one with all fields, and others with fewer of them.

Versions can be partitioned differently. The ids of their specs must differ, and each version is planned
without the others, so the ids begin with a hash of the partition columns.

PyIceberg up to 0.12 refuses null in the partition of a task. A file with nulls then has a spec without
these fields, so that PyIceberg reads their columns as null. Other clients get the spec with all fields.

If one of the specs has no fields, Spark tests all filters itself, also those that plans decide
(Iceberg documentation, `ExpressionUtil.selectsPartitions`).

Iceberg tables have their own specs, and always one without fields.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from typing import Any

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.iceberg.shape import IcebergShape, OwnMetadata

_MOST_FIELDS = 6
_NUMBER_BITS = 7
_HASH_BITS = 31 - _NUMBER_BITS
_WITHOUT_ALL = (1 << _NUMBER_BITS) - 1


def spec_without(missing: Collection[int], shape: IcebergShape) -> int:
    """The id of the spec that lacks some partition fields."""
    if shape.own is not None:
        return shape.own.default_spec
    if not missing:
        return _first(shape)
    fields = len(shape.partition_fields)
    if len(missing) == fields:
        return _first(shape) + _WITHOUT_ALL
    if fields > _MOST_FIELDS:
        raise UnsupportedOperation(
            f"PyIceberg cannot read null in partitions of more than {_MOST_FIELDS} columns: "
            "use another client or protocol"
        )
    return _first(shape) + sum(1 << place for place in missing)


def partition_specs(shape: IcebergShape) -> list[Mapping[str, Any]]:
    """The specs of a version, of which the first one has all partition fields.

    Source: Iceberg specification, "Partition Specs".
    """
    if shape.own is not None:
        return own_specs(shape.own)
    fields = [
        {
            "field-id": field.id,
            "source-id": field.source.id,
            "name": field.source.name,
            "transform": "identity",
        }
        for field in shape.partition_fields
    ]
    some = range(1, (1 << len(fields)) - 1) if len(fields) <= _MOST_FIELDS else ()
    numbers = [0, *some, *((_WITHOUT_ALL,) if fields else ())]
    return [
        {
            "spec-id": _first(shape) + number,
            "fields": [
                field
                for place, field in enumerate(fields)
                if number != _WITHOUT_ALL and not number >> place & 1
            ],
        }
        for number in numbers
    ]


def own_specs(own: OwnMetadata) -> list[Mapping[str, Any]]:
    """The specs of an Iceberg table, of which the first one is that of new files."""
    first_last = sorted(own.specs, key=lambda spec: (spec.id != own.default_spec, spec.id))
    return [
        {
            "spec-id": spec.id,
            "fields": [
                {
                    "field-id": field.id,
                    "source-id": field.source_id,
                    "name": field.name,
                    "transform": field.transform,
                }
                for field in spec.fields
            ],
        }
        for spec in first_last
    ]


def _first(shape: IcebergShape) -> int:
    columns = ",".join(str(field.source.id) for field in shape.partition_fields)
    return (zlib.crc32(columns.encode()) & ((1 << _HASH_BITS) - 1)) << _NUMBER_BITS
