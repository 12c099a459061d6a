"""Iceberg manifests and manifest lists (Iceberg specification, "Manifests" and "Manifest Lists")."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro
import orjson

from sluicegate_spark.conversion.columns import Column
from sluicegate_spark.conversion.values import avro_type

EXISTING, ADDED, DELETED = 0, 1, 2
FIRST_PARTITION_FIELD = 1000
_NAME = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Layout:
    """What all manifests of a converted table are written with.

    Attributes:
        schema: The table's, as its metadata has it.
        partition: Columns that its files are partitioned by.
    """

    schema: Mapping[str, Any]
    partition: Sequence[Column]

    @property
    def spec(self) -> list[dict[str, Any]]:
        """The fields of the partition spec."""
        return [
            {
                "name": column.name,
                "transform": "identity",
                "source-id": column.id,
                "field-id": FIRST_PARTITION_FIELD + number,
            }
            for number, column in enumerate(self.partition)
        ]


def partition_keys(partition: Sequence[Column]) -> list[str]:
    """What manifests call the partition values: names of Avro have few characters."""
    return [f"p{number}_{_NAME.sub('_', column.name)}" for number, column in enumerate(partition)]


def manifest(layout: Layout, entries: Iterable[Mapping[str, Any]]) -> bytes:
    """A manifest of data files.

    Args:
        layout: Of the table.
        entries: Rows of the manifest: `status`, `snapshot_id`, `sequence_number`,
            `file_sequence_number` and `data_file`.
    """
    metadata = {
        "schema": orjson.dumps(layout.schema).decode(),
        "schema-id": str(layout.schema["schema-id"]),
        "partition-spec": orjson.dumps(layout.spec).decode(),
        "partition-spec-id": "0",
        "format-version": "2",
        "content": "data",
    }
    return _avro(_entry_schema(layout.partition), entries, metadata)


def manifest_list(
    rows: Iterable[Mapping[str, Any]], snapshot_id: int, parent: int | None, sequence_number: int
) -> bytes:
    """A manifest list; its rows are of the specification's `manifest_file`."""
    metadata = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent is None else str(parent),
        "sequence-number": str(sequence_number),
        "format-version": "2",
    }
    return _avro(_LIST_SCHEMA, rows, metadata)


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
    """A map with integers as keys, which Avro's own maps cannot have."""
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


def _entry_schema(partition: Sequence[Column]) -> dict[str, Any]:
    keys = partition_keys(partition)
    values = [
        _field(FIRST_PARTITION_FIELD + number, key, avro_type(column.type, column.name))
        for number, (key, column) in enumerate(zip(keys, partition, strict=True))
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
    ],
}
