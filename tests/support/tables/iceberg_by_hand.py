"""Iceberg tables whose files are written by hand, as no library would write them."""

from __future__ import annotations

import copy
import io
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = {"type": "struct", "schema-id": 0, "fields": [
    {"id": 1, "name": "id", "required": False, "type": "long"}
]}  # fmt: skip
_SYNC = b"0123456789abcdef"
_PIECE = 1 << 20
_COUNTS = {"type": "array", "items": {"type": "record", "name": "k121_v122", "fields": [
    {"name": "key", "type": "int"}, {"name": "value", "type": "long"}
]}}  # fmt: skip
LIST_SCHEMA: Mapping[str, Any] = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        {"name": "manifest_path", "type": "string"},
        {"name": "manifest_length", "type": "long"},
        {"name": "partition_spec_id", "type": "int"},
        {"name": "content", "type": "int"},
        {"name": "sequence_number", "type": "long"},
        {"name": "added_snapshot_id", "type": "long"},
    ],
}
ENTRY_SCHEMA: Mapping[str, Any] = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int"},
        {"name": "snapshot_id", "type": ["null", "long"]},
        {
            "name": "data_file",
            "type": {
                "type": "record",
                "name": "r2",
                "fields": [
                    {"name": "content", "type": "int"},
                    {"name": "file_path", "type": "string"},
                    {"name": "file_format", "type": "string"},
                    {"name": "record_count", "type": "long"},
                    {"name": "file_size_in_bytes", "type": "long"},
                    {"name": "null_value_counts", "type": ["null", _COUNTS]},
                ],
            },
        },
    ],
}
DELETE_SCHEMA: dict[str, Any] = copy.deepcopy(dict(ENTRY_SCHEMA))
DELETE_SCHEMA["fields"][2]["type"]["fields"] += [
    {"name": "referenced_data_file", "type": ["null", "string"]},
    {"name": "content_offset", "type": ["null", "long"]},
    {"name": "content_size_in_bytes", "type": ["null", "long"]},
]


@dataclass(frozen=True)
class HandWritten:
    """A table of version 2 with one snapshot, one manifest list, one manifest and one data file.

    Attributes:
        root: An empty folder, or none yet.
    """

    root: Path

    @property
    def location(self) -> str:
        """Of the table."""
        return f"file://{self.root}"

    def write(
        self,
        *,
        metadata: bytes | Mapping[str, Any] | None = None,
        manifests: bytes | Sequence[Mapping[str, Any]] | None = None,
        entries: bytes | Sequence[Mapping[str, Any]] | None = None,
        name: str = "1.metadata.json",
    ) -> None:
        """Write the table; what is not given is as it should be."""
        folder = self.root / "metadata"
        folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(metadata, bytes):
            metadata = json.dumps({**self.metadata(), **(metadata or {})}).encode()
        if not isinstance(manifests, bytes):
            manifests = avro(LIST_SCHEMA, [self.manifest()] if manifests is None else manifests)
        if not isinstance(entries, bytes):
            entries = avro(ENTRY_SCHEMA, [self.entry()] if entries is None else entries)
        (folder / "list.avro").write_bytes(manifests)
        (folder / "manifest.avro").write_bytes(entries)
        (folder / name).write_bytes(metadata)

    def write_deletes(self, content: bytes, **members: Any) -> None:
        """Write the table with a file of deletes; the members are those of the file in its manifest."""
        location = f"{self.location}/metadata/deletes.avro"
        self.write(manifests=[self.manifest(), self.manifest(content=1, manifest_path=location)])
        file = {
            "content": 1,
            "file_path": f"{self.location}/data/deletes",
            "file_format": "PARQUET",
            "referenced_data_file": None,
            "content_offset": None,
            "content_size_in_bytes": None,
        }
        entry = avro(DELETE_SCHEMA, [self.entry(**{**file, **members})])
        (self.root / "metadata" / "deletes.avro").write_bytes(entry)
        (self.root / "data").mkdir(exist_ok=True)
        (self.root / "data" / "deletes").write_bytes(content)

    def metadata(self) -> dict[str, Any]:
        """The metadata as it should be."""
        return {
            "format-version": 2,
            "table-uuid": "5a9a2c60-4e1f-4d0e-9d4b-0f2d1d6d7a11",
            "location": self.location,
            "last-sequence-number": 1,
            "last-updated-ms": 1_700_000_000_000,
            "last-column-id": 1,
            "current-schema-id": 0,
            "schemas": [COLUMNS],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": 1,
            "snapshots": [self.snapshot()],
            "snapshot-log": [{"snapshot-id": 1, "timestamp-ms": 1_700_000_000_000}],
        }

    def snapshot(self, **members: Any) -> dict[str, Any]:
        """The snapshot, with members that are other than they should be."""
        return {
            "snapshot-id": 1,
            "sequence-number": 1,
            "timestamp-ms": 1_700_000_000_000,
            "manifest-list": f"{self.location}/metadata/list.avro",
            "schema-id": 0,
            "summary": {"operation": "append"},
            **members,
        }

    def manifest(self, **members: Any) -> dict[str, Any]:
        """The row of the manifest list, likewise."""
        return {
            "manifest_path": f"{self.location}/metadata/manifest.avro",
            "manifest_length": 1,
            "partition_spec_id": 0,
            "content": 0,
            "sequence_number": 1,
            "added_snapshot_id": 1,
            **members,
        }

    def entry(self, **members: Any) -> dict[str, Any]:
        """The row of the manifest; the members are those of the data file."""
        file = {
            "content": 0,
            "file_path": f"{self.location}/data/1.parquet",
            "file_format": "PARQUET",
            "record_count": 1,
            "file_size_in_bytes": 1000,
            "null_value_counts": None,
        }
        return {"status": 1, "snapshot_id": 1, "data_file": {**file, **members}}


def avro(schema: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A good Avro file."""
    buffer = io.BytesIO()
    headers = {"schema": json.dumps(COLUMNS), "format-version": "2"}
    fastavro.writer(buffer, dict(schema), list(rows), codec="deflate", metadata=headers)
    return buffer.getvalue()


def avro_row(schema: Mapping[str, Any], row: Mapping[str, Any]) -> bytes:
    """A row as it stands in a block."""
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, dict(schema), row)
    return buffer.getvalue()


def avro_file(
    schema: Any, count: int, block: bytes, *, codec: str = "deflate", columns: str = json.dumps(COLUMNS)
) -> bytes:
    """An Avro file of one block, whatever is in it."""
    headers = {"avro.schema": json.dumps(schema), "avro.codec": codec, "schema": columns}
    pairs = b"".join(_text(key) + _text(value) for key, value in headers.items())
    head = b"Obj\1" + _long(len(headers)) + pairs + _long(0) + _SYNC
    return head + _long(count) + _long(len(block)) + block + _SYNC


def deflated(repeated: bytes, size: int, *, before: bytes = b"", gzip: bool = False) -> bytes:
    """Compress very many bytes quickly: a piece once, and what came out of it again and again."""
    piece = repeated * (_PIECE // len(repeated))
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31 if gzip else -15)
    head = deflate.compress(before) + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(piece) + deflate.flush(zlib.Z_FULL_FLUSH)
    return head + block * (size // len(piece)) + deflate.flush()


def repeated_position(path: str, rows: int) -> bytes:
    """A Parquet file of position deletes, which all delete the same row of a data file."""
    columns = {
        "file_path": pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), [path]),
        "pos": pa.repeat(pa.scalar(1, pa.int64()), rows),
    }
    buffer = io.BytesIO()
    table = pa.table(columns)
    schema = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])
    pq.write_table(table, buffer, compression="zstd", store_schema=False)
    assert pq.read_schema(io.BytesIO(buffer.getvalue())) == schema
    return buffer.getvalue()


def long_text(size: int) -> bytes:
    """The beginning of a text of so many bytes, in Avro."""
    return _long(size)


def _text(value: str) -> bytes:
    return _long(len(value)) + value.encode()


def _long(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
