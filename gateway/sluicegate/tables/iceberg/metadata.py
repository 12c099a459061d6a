"""The metadata of a table for Iceberg clients, made from the versions that a recipient can read.

Source: Iceberg specification, "Table Metadata and Snapshots" and "JSON serialization".
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.tables.iceberg.shape import (
    Field,
    IcebergShape,
    ListOf,
    MapOf,
    Struct,
    Type,
    children,
    fields_of,
)

SCHEMA_ID = 0
_NAMESPACE = uuid.UUID("6f0a9c3e-41a5-4b63-9a39-4f6d2f3b8c11")
_NAME_MAPPING = "schema.name-mapping.default"
# Iceberg's vectorized reader for Spark takes timestamps in milliseconds, which writers of Delta tables
# can use and writers of Iceberg tables cannot, for microseconds.
_VECTORIZED = "read.parquet.vectorization.enabled"
_TIMESTAMPS = ("timestamp", "timestamptz")


@dataclass(frozen=True, slots=True)
class ListedSnapshot:
    """A version that a recipient can read.

    Attributes:
        id: The Iceberg snapshot id.
        timestamp: When the version was committed, epoch milliseconds.
        manifest_list: Its path for clients.
    """

    id: int
    timestamp: int
    manifest_list: str


def table_metadata(
    shape: IcebergShape,
    *,
    identity: str,
    location: str,
    specs: Sequence[Mapping[str, Any]],
    snapshots: Sequence[ListedSnapshot],
) -> bytes:
    """Table metadata as JSON.

    It contains no totals and no statistics: these would tell about files that are not shared.

    Args:
        shape: The schema and the partitioning of the last snapshot.
        identity: Identifies the shared table. The table's UUID is derived from it.
        location: The table's location for clients.
        specs: The partition specs, of which the first one is the default.
        snapshots: At least one, in the order of their ids. The last one is the current one.
    """
    current = snapshots[-1]
    metadata: dict[str, Any] = {
        "format-version": shape.format_version,
        "table-uuid": str(uuid.uuid5(_NAMESPACE, identity)),
        "location": location,
        "last-sequence-number": current.id,
        "last-updated-ms": current.timestamp,
        "last-column-id": shape.last_column_id,
        "current-schema-id": SCHEMA_ID,
        "schemas": [{"schema-id": SCHEMA_ID, "identifier-field-ids": [], **schema_json(shape.schema)}],
        "default-spec-id": 0,
        "partition-specs": specs,
        "last-partition-id": max((each.id for each in shape.partition_fields), default=999),
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": _properties(shape),
        "current-snapshot-id": current.id,
        "refs": {"main": {"snapshot-id": current.id, "type": "branch"}},
        "snapshots": [_snapshot(each, shape.format_version) for each in snapshots],
        "snapshot-log": [
            {"snapshot-id": each.id, "timestamp-ms": each.timestamp} for each in snapshots
        ],
        "metadata-log": [],
    }
    if shape.format_version > 2:
        metadata["next-row-id"] = 0
    return orjson.dumps(metadata)


def schema_json(type_: Type) -> Any:
    """A type as JSON."""
    match type_:
        case Struct(fields):
            return {"type": "struct", "fields": [_field(each) for each in fields]}
        case ListOf(element):
            return {
                "type": "list",
                "element-id": element.id,
                "element-required": element.required,
                "element": schema_json(element.type),
            }
        case MapOf(key, value):
            return {
                "type": "map",
                "key-id": key.id,
                "key": schema_json(key.type),
                "value-id": value.id,
                "value-required": value.required,
                "value": schema_json(value.type),
            }
    return type_


def _properties(shape: IcebergShape) -> dict[str, str]:
    properties = {_NAME_MAPPING: orjson.dumps(_names(shape.schema.fields)).decode()}
    if any(each.type in _TIMESTAMPS for each in fields_of(shape.schema)):
        properties[_VECTORIZED] = "false"
    return properties


def _field(field: Field) -> dict[str, Any]:
    described = {
        "id": field.id,
        "name": field.name,
        "required": field.required,
        "type": schema_json(field.type),
    }
    return described if field.doc is None else {**described, "doc": field.doc}


def _names(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """Names in files without field ids (Iceberg specification, "Column Projection")."""
    return [
        {
            "field-id": each.id,
            "names": [each.physical_name],
            **({"fields": inner} if (inner := _names(children(each.type))) else {}),
        }
        for each in fields
    ]


def _snapshot(snapshot: ListedSnapshot, format_version: int) -> dict[str, Any]:
    described = {
        "snapshot-id": snapshot.id,
        "sequence-number": snapshot.id,
        "timestamp-ms": snapshot.timestamp,
        "manifest-list": snapshot.manifest_list,
        "summary": {"operation": "append"},
        "schema-id": SCHEMA_ID,
    }
    # Clients of version 3 require row lineage, which is not offered: no file has row ids.
    return described | ({"first-row-id": 0, "added-rows": 0} if format_version > 2 else {})
