"""The metadata of a table for Iceberg clients, made from the versions that a recipient can read.

Source: Iceberg specification, "Table Metadata and Snapshots" and "JSON serialization".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.tables.iceberg.file_names import Names, add_names
from sluicegate.tables.iceberg.shape import (
    FIRST_HIDDEN_ID,
    Field,
    IcebergShape,
    ListOf,
    MapOf,
    Struct,
    Type,
    children,
    fields_of,
)

_NAMESPACE = uuid.UUID("6f0a9c3e-41a5-4b63-9a39-4f6d2f3b8c11")
_NAME_MAPPING = "schema.name-mapping.default"
# Iceberg's vectorized reader for Spark takes timestamps in milliseconds, which writers of Delta tables
# can use and writers of Iceberg tables cannot, for microseconds.
_VECTORIZED = "read.parquet.vectorization.enabled"
_TIMESTAMPS = ("timestamp", "timestamptz")
_UNSORTED: Mapping[str, Any] = {"order-id": 0, "fields": []}
_NO_REFS: Mapping[str, Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class ListedSnapshot:
    """A version that a recipient can read.

    Attributes:
        timestamp: When the version was committed, epoch milliseconds.
    """

    id: int
    timestamp: int
    shape: IcebergShape
    manifest_list: str


def table_metadata(
    *,
    identity: str,
    location: str,
    specs: Sequence[Mapping[str, Any]],
    snapshots: Sequence[ListedSnapshot],
    file_names: Sequence[Names] = (),
    refs: Mapping[str, Mapping[str, Any]] = _NO_REFS,
) -> bytes:
    """Table metadata as JSON.

    It contains no totals and no statistics: these would tell about files that are not shared.
    """
    current = snapshots[-1]
    schemas = _Schemas()
    listed = [(each, schemas.id_of(each.shape)) for each in snapshots]
    order = _sort_order(current.shape)
    format_version = max(each.shape.format_version for each in snapshots)
    next_row = {"next-row-id": 0} if format_version > 2 else {}
    metadata: dict[str, Any] = {
        "format-version": format_version,
        "table-uuid": str(uuid.uuid5(_NAMESPACE, identity)),
        "location": location,
        "last-sequence-number": current.id,
        "last-updated-ms": max(each.timestamp for each in snapshots),
        "last-column-id": max(each.shape.last_column_id for each in snapshots),
        "current-schema-id": listed[-1][1],
        "schemas": schemas.json(),
        "default-spec-id": specs[0]["spec-id"],
        "partition-specs": specs,
        "last-partition-id": max(_partition_ids(specs, snapshots), default=999),
        "default-sort-order-id": order["order-id"],
        "sort-orders": [order] if order is _UNSORTED else [_UNSORTED, order],
        "properties": _properties(schemas.known, current.shape.hidden, file_names),
        "current-snapshot-id": current.id,
        "refs": {**refs, "main": {"snapshot-id": current.id, "type": "branch"}},
        "snapshots": list(_snapshots(listed, format_version)),
        "snapshot-log": _snapshot_log(snapshots),
        "metadata-log": [],
        **next_row,
    }
    return orjson.dumps(metadata)


def _snapshot_log(snapshots: Sequence[ListedSnapshot]) -> list[Mapping[str, Any]]:
    return [{"snapshot-id": each.id, "timestamp-ms": each.timestamp} for each in snapshots]


def _partition_ids(
    specs: Sequence[Mapping[str, Any]], snapshots: Sequence[ListedSnapshot]
) -> Iterator[int]:
    for each in snapshots:
        yield from (field.id for field in each.shape.partition_fields)
    if snapshots[-1].shape.own is not None:
        yield from (field["field-id"] for spec in specs for field in spec["fields"])


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


class _Schemas:
    """Numbers the distinct schemas of snapshots, unless the table numbers them itself."""

    def __init__(self) -> None:
        self.known: list[Struct] = []
        self._ids: dict[int, int] = {}
        self._written: dict[int, IcebergShape] = {}

    def id_of(self, shape: IcebergShape) -> int:
        """The id of a schema. Most snapshots share the object of the one before."""
        schema = shape.schema
        found = self._ids.get(id(schema))
        if found is None:
            if schema not in self.known:
                self.known.append(schema)
            found = self.known.index(schema) if shape.own is None else shape.own.schema_id
            self._ids[id(schema)] = found
            self._written.setdefault(found, shape)
        return found

    def json(self) -> list[dict[str, Any]]:
        """All schemas."""
        return [
            {
                "schema-id": number,
                "identifier-field-ids": [] if shape.own is None else list(shape.own.identifiers),
                **schema_json(shape.schema),
            }
            for number, shape in self._written.items()
        ]


def _sort_order(shape: IcebergShape) -> Mapping[str, Any]:
    """The order in which the files of a table are sorted."""
    if shape.own is None or shape.own.sort_order is None:
        return _UNSORTED
    order: Mapping[str, Any] = orjson.loads(shape.own.sort_order)
    return order


def _properties(
    schemas: Sequence[Struct], hidden: Sequence[str], file_names: Sequence[Names]
) -> dict[str, str]:
    mapping = name_mapping(schemas)
    # PyIceberg reads files with a column without an id by names, and fails if the mapping lacks one.
    mapped = {name for each in mapping for name in each["names"]}
    mapping += [
        {"field-id": id_, "names": [name]}
        for id_, name in enumerate(hidden, FIRST_HIDDEN_ID)
        if name not in mapped
    ]
    add_names(mapping, file_names, {each.id for schema in schemas for each in fields_of(schema)})
    properties = {_NAME_MAPPING: orjson.dumps(mapping).decode()}
    if any(each.type in _TIMESTAMPS for schema in schemas for each in fields_of(schema)):
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


def name_mapping(types: Sequence[Type]) -> list[dict[str, Any]]:
    """Names in files without field ids (Iceberg specification, "Column Projection")."""
    fields: dict[int, list[Field]] = {}
    for type_ in types:
        for each in children(type_):
            fields.setdefault(each.id, []).append(each)
    return [
        {
            "field-id": id_,
            "names": list(dict.fromkeys(each.physical_name for each in same)),
            **({"fields": inner} if (inner := name_mapping([each.type for each in same])) else {}),
        }
        for id_, same in fields.items()
    ]


def _snapshots(
    listed: Sequence[tuple[ListedSnapshot, int]], format_version: int
) -> Iterator[dict[str, Any]]:
    parent: dict[str, Any] = {}
    for snapshot, schema_id in listed:
        yield {
            "snapshot-id": snapshot.id,
            **parent,
            "sequence-number": snapshot.id,
            "timestamp-ms": snapshot.timestamp,
            "manifest-list": snapshot.manifest_list,
            # Manifests do not show what a version added, so clients must not look for appended files.
            "summary": {"operation": "overwrite" if parent else "append"},
            "schema-id": schema_id,
            # Version 3 requires row lineage, which is not offered: no file has row ids.
            **({"first-row-id": 0, "added-rows": 0} if format_version > 2 else {}),
        }
        parent = {"parent-snapshot-id": snapshot.id}
