"""Iceberg tables without data files: manifests that name any number of them, and delete files."""

from __future__ import annotations

import io
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import fastavro
import obstore
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from sluicegate_testing.servers.seaweedfs import SeaweedFS

_SCHEMA: Final = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "number", "required": False, "type": "long"}],
}
_BOUNDS: Final = {
    "type": "array",
    "items": {
        "type": "record",
        "name": "k126_v127",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}],
    },
}
_ENTRY: Final = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int"},
        {"name": "snapshot_id", "type": ["null", "long"]},
        {"name": "sequence_number", "type": ["null", "long"]},
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
                    {"name": "lower_bounds", "type": ["null", _BOUNDS]},
                ],
            },
        },
    ],
}
_TEXTS, _LONGS = ("manifest_path",), ("manifest_length", "sequence_number", "added_snapshot_id")
_INTS = ("partition_spec_id", "content", "added_files_count", "existing_files_count")
_LIST: Final = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        {"name": name, "type": kind}
        for names, kind in ((_TEXTS, "string"), (_LONGS, "long"), (_INTS, "int"))
        for name in names
    ],
}
Manifest = Mapping[str, Any]


@dataclass
class ManifestTable:
    """A table in a bucket."""

    server: SeaweedFS
    name: str
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    _uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    _manifests: int = 0

    @property
    def location(self) -> str:
        """Return the location of the table."""
        return f"s3://{self.server.bucket}/{self.name}"

    def manifest(self, files: Sequence[int], sequence_number: int) -> Manifest:
        """Write a manifest."""
        entries = [_entry(self.data_file(number), 1000 + number, number) for number in files]
        return self._manifest(entries, sequence_number)

    def deletes(self, rows: Mapping[int, Sequence[int]], sequence_number: int) -> Manifest:
        """Write a delete manifest with one position delete file."""
        pairs = [(self.data_file(file), row) for file, each in rows.items() for row in each]
        stream = io.BytesIO()
        names = ("file_path", "pos")
        pq.write_table(pa.table(dict(zip(names, zip(*pairs, strict=True), strict=True))), stream)
        path = self._put(f"data/deletes-{self._manifests}.parquet", stream.getvalue())
        entry = _entry(path, len(stream.getvalue()), 0, content=1)
        return self._manifest([entry], sequence_number, content=1)

    def data_file(self, number: int) -> str:
        """Return the location of a data file."""
        return f"{self.location}/data/a b%2F/{number:08}.parquet"

    def commit(self, *manifests: Manifest) -> int:
        """Commit a snapshot, and return the number of the metadata file."""
        number = len(self.snapshots) + 1
        path = self._put(f"metadata/snap-{number}.avro", _avro(_LIST, manifests, {}))
        self.snapshots.append(
            {
                "snapshot-id": number,
                "sequence-number": number,
                "timestamp-ms": 1_750_000_000_000 + number,
                "manifest-list": path,
                "schema-id": 0,
            }
        )
        return self.point_to(number)

    def point_to(self, snapshot: int) -> int:
        """Make a snapshot the current one, and return the number of the metadata file."""
        number = len(self.metadata)
        content = {
            "format-version": 2,
            "table-uuid": self._uuid,
            "location": self.location,
            "last-updated-ms": 1_750_000_000_000 + number,
            "current-schema-id": 0,
            "schemas": [_SCHEMA],
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "current-snapshot-id": snapshot,
            "snapshots": self.snapshots,
        }
        self.metadata.append(self._put(f"metadata/{number:05}.metadata.json", orjson.dumps(content)))
        return number

    def leave_only_header(self, manifest: Manifest) -> None:
        """Cut a manifest off after its header, so that its schema can be read, but no file."""
        key = self.key(manifest["manifest_path"])
        data = bytes(obstore.get(self.server.store(), key).bytes())
        sync = data[-16:]  # of a file with blocks
        obstore.put(self.server.store(), key, data[: data.index(sync) + 16] + b"\xff")

    def delete(self, location: str) -> None:
        """Delete a file of the table."""
        obstore.delete(self.server.store(), self.key(location))

    def key(self, location: str) -> str:
        """Return the key of a location in the bucket."""
        return location.removeprefix(f"s3://{self.server.bucket}/")

    def _put(self, name: str, data: bytes) -> str:
        obstore.put(self.server.store(), f"{self.name}/{name}", data)
        return f"{self.location}/{name}"

    def _manifest(
        self, entries: Sequence[Manifest], sequence_number: int, content: int = 0
    ) -> Manifest:
        headers = {"schema": orjson.dumps(_SCHEMA).decode(), "partition-spec": "[]"}
        numbers = {"snapshot_id": sequence_number, "sequence_number": sequence_number}
        data = _avro(_ENTRY, ({**entry, **numbers} for entry in entries), headers)
        self._manifests += 1
        return {
            "manifest_path": self._put(f"metadata/manifest-{self._manifests}.avro", data),
            "manifest_length": len(data),
            "sequence_number": sequence_number,
            "added_snapshot_id": sequence_number,
            "partition_spec_id": 0,
            "content": content,
            "added_files_count": len(entries),
            "existing_files_count": 0,
        }


def _entry(path: str, size: int, bound: int, content: int = 0) -> Manifest:
    data_file = {
        "content": content,
        "file_path": path,
        "file_format": "PARQUET",
        "record_count": 5,
        "file_size_in_bytes": size,
        "lower_bounds": [{"key": 1, "value": struct.pack("<q", bound)}] if content == 0 else None,
    }
    return {"status": 1, "data_file": data_file}


def _avro(schema: Mapping[str, Any], rows: Any, headers: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    fastavro.writer(stream, dict(schema), rows, codec="deflate", metadata=dict(headers))
    return stream.getvalue()
