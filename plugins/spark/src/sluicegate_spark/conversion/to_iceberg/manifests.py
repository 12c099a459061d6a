"""Iceberg manifests and manifest lists (Iceberg specification, "Manifests" and "Manifest Lists")."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro
import orjson

from sluicegate.api import TableUnreadable
from sluicegate_spark.conversion.to_iceberg.schema import Column
from sluicegate_spark.conversion.to_iceberg.value_encoding import avro_type

EXISTING, ADDED, DELETED = 0, 1, 2
FIRST_PARTITION_FIELD = 1000
_DAMAGES = (ValueError, KeyError, EOFError, TypeError, IndexError, AttributeError)
_NAME = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Layout:
    """The properties that all manifests of a converted table share."""

    schema: Mapping[str, Any]
    partition: Sequence[Column]
    spec_id: int
    field_ids: Sequence[int]


def spec_fields(partition: Sequence[Column], field_ids: Iterable[int]) -> list[dict[str, Any]]:
    """Return the fields of a partition spec."""
    return [
        {
            "name": column.name,
            "transform": "identity",
            "source-id": column.id,
            "field-id": field_id,
        }
        for column, field_id in zip(partition, field_ids, strict=False)
    ]


def partition_keys(partition: Sequence[Column]) -> list[str]:
    """Return the names of partition values in manifests. Avro allows few characters in names."""
    return [f"p{number}_{_NAME.sub('_', column.name)}" for number, column in enumerate(partition)]


def manifest(layout: Layout, entries: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a manifest of data files."""
    metadata = {
        "schema": orjson.dumps(layout.schema).decode(),
        "schema-id": str(layout.schema["schema-id"]),
        "partition-spec": orjson.dumps(spec_fields(layout.partition, layout.field_ids)).decode(),
        "partition-spec-id": str(layout.spec_id),
        "format-version": "2",
        "content": "data",
    }
    return _avro(_entry_schema(layout), entries, metadata)


def manifest_list(
    rows: Iterable[Mapping[str, Any]], snapshot_id: int, parent: int | None, sequence_number: int
) -> bytes:
    """Return a manifest list. Its rows are `manifest_file` structures of the specification."""
    metadata = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent is None else str(parent),
        "sequence-number": str(sequence_number),
        "format-version": "2",
    }
    return _avro(_LIST_SCHEMA, rows, metadata)


def records(data: bytes, schema: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Return the rows of a manifest or a manifest list."""
    try:
        for row in fastavro.reader(io.BytesIO(data), None if schema is None else dict(schema)):
            if isinstance(row, dict):
                yield row
    except _DAMAGES as error:
        raise TableUnreadable(
            "a metadata file of the Iceberg table is damaged", detail=type(error).__name__
        ) from None


def _avro(
    schema: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], metadata: Mapping[str, str]
) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, dict(schema), rows, codec="deflate", metadata=dict(metadata))
    return out.getvalue()


def _field(id_: int, name: str, type_: Any, *, required: bool = False) -> dict[str, Any]:
    if required:
        return {"name": name, "type": type_, "field-id": id_}
    return {"name": name, "type": ["null", type_], "default": None, "field-id": id_}


def _map(key_id: int, value_id: int, value: str) -> dict[str, Any]:
    """Return a map type with integer keys, which Avro's own maps don't support."""
    return {
        "type": "array",
        "logicalType": "map",
        "items": {
            "type": "record",
            "name": f"k{key_id}_v{value_id}",
            "fields": [
                _field(key_id, "key", "int", required=True),
                _field(value_id, "value", value, required=True),
            ],
        },
    }


def _entry_schema(layout: Layout) -> dict[str, Any]:
    keys = partition_keys(layout.partition)
    values = [
        _field(field_id, key, avro_type(column.type, column.name))
        for field_id, key, column in zip(layout.field_ids, keys, layout.partition, strict=True)
    ]
    file_fields = [
        _field(134, "content", "int", required=True),
        _field(100, "file_path", "string", required=True),
        _field(101, "file_format", "string", required=True),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": values}, required=True),
        _field(103, "record_count", "long", required=True),
        _field(104, "file_size_in_bytes", "long", required=True),
        _field(110, "null_value_counts", _map(121, 122, "long")),
        _field(125, "lower_bounds", _map(126, 127, "bytes")),
        _field(128, "upper_bounds", _map(129, 130, "bytes")),
    ]
    data_file = {"type": "record", "name": "r2", "fields": file_fields}
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field(0, "status", "int", required=True),
            _field(1, "snapshot_id", "long"),
            _field(3, "sequence_number", "long"),
            _field(4, "file_sequence_number", "long"),
            _field(2, "data_file", data_file, required=True),
        ],
    }


_SUMMARY: Mapping[str, Any] = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field(509, "contains_null", "boolean", required=True),
        _field(518, "contains_nan", "boolean"),
        _field(510, "lower_bound", "bytes"),
        _field(511, "upper_bound", "bytes"),
    ],
}
_LIST_SCHEMA: Mapping[str, Any] = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field(500, "manifest_path", "string", required=True),
        _field(501, "manifest_length", "long", required=True),
        _field(502, "partition_spec_id", "int", required=True),
        _field(517, "content", "int", required=True),
        _field(515, "sequence_number", "long", required=True),
        _field(516, "min_sequence_number", "long", required=True),
        _field(503, "added_snapshot_id", "long", required=True),
        _field(504, "added_files_count", "int", required=True),
        _field(505, "existing_files_count", "int", required=True),
        _field(506, "deleted_files_count", "int", required=True),
        _field(512, "added_rows_count", "long", required=True),
        _field(513, "existing_rows_count", "long", required=True),
        _field(514, "deleted_rows_count", "long", required=True),
        _field(507, "partitions", {"type": "array", "items": _SUMMARY, "element-id": 508}),
    ],
}
