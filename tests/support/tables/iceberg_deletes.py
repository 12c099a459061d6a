"""Delete files that are added to Iceberg tables by hand, as merge-on-read writers add them.

PyIceberg only rewrites data files. It reads position deletes of version 2 though, and so is the oracle.
"""

from __future__ import annotations

import json
import struct
import time
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import ManifestContent, ManifestFile, write_manifest_list
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyroaring import BitMap64

_POSITIONS = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
    ]
)
_MAGIC = struct.pack("<I", 1681511377)


def data_files(table: Table) -> list[str]:
    """Locations of the live data files, sorted."""
    return sorted(task.file.file_path for task in table.scan().plan_files())


def delete_positions(table: Table, rows: Mapping[str, Sequence[int]]) -> None:
    """Delete rows of data files, by their positions, in one file of version 2."""
    location = _new_file(table, "deletes.parquet")
    pairs = sorted((path, row) for path, deleted in rows.items() for row in deleted)
    columns = [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
    _write_parquet(table, location, pa.table(columns, schema=_POSITIONS))
    _commit(table, [_file(location, content=1, file_format="PARQUET", record_count=len(pairs))])


def delete_by_vectors(
    table: Table, rows: Mapping[str, Sequence[int]], *, name: str = "deletes.puffin"
) -> None:
    """Delete rows of data files by the vectors of one Puffin file, replacing all deletes."""
    location = _new_file(table, name)
    data, files = b"PFA1", []
    for path, deleted in rows.items():
        payload = _MAGIC + BitMap64(deleted).serialize()
        blob = struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
        place = {"content_offset": len(data), "content_size_in_bytes": len(blob)}
        vector = _file(location, content=1, file_format="PUFFIN", record_count=len(deleted))
        files.append({**vector, **place, "referenced_data_file": path})
        data += blob
    _write(table, location, data)
    _commit(table, files, replace=True)


def delete_by_values(table: Table, column: int, values: pa.Table) -> None:
    """Delete the rows that have one of these values in a column."""
    location = _new_file(table, "equal.parquet")
    _write_parquet(table, location, values)
    file = _file(location, content=2, file_format="PARQUET", record_count=len(values))
    _commit(table, [{**file, "equality_ids": [column]}])


def only_manifest(table: Table) -> ManifestFile:
    """The manifest of a table that was written to once."""
    snapshot = table.refresh().current_snapshot()
    assert snapshot is not None
    (manifest,) = snapshot.manifests(table.io)
    return manifest


def change_entries(
    manifest: ManifestFile, schema: Mapping[str, Any] | None = None, **changes: Any
) -> None:
    """Say something else of all data files of a manifest, or of the schema that it was written with."""
    path = _path(manifest.manifest_path)
    with path.open("rb") as stream:
        reader: Any = fastavro.reader(stream)
        entries = [{**entry, "data_file": {**entry["data_file"], **changes}} for entry in reader]
        headers = {key: text for key, text in reader.metadata.items() if not key.startswith("avro.")}
        written = reader.writer_schema
    if schema is not None:
        headers["schema"] = json.dumps(schema)
    with path.open("wb") as stream:
        fastavro.writer(stream, written, entries, codec="deflate", metadata=headers)


def as_version_3(table: Table) -> None:
    """Say that a table is of version 3, which PyIceberg reads but cannot write; its last change."""

    def change(metadata: dict[str, Any]) -> None:
        metadata |= {"format-version": 3, "next-row-id": 0}
        for snapshot in metadata["snapshots"]:
            snapshot |= {"first-row-id": 0, "added-rows": 0}

    change_metadata(table, change)


def change_metadata(table: Table, change: Callable[[dict[str, Any]], object]) -> None:
    """Say something else in a table's newest metadata file."""
    path = _path(table.refresh().metadata_location)
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


def _new_file(table: Table, name: str) -> str:
    return f"{table.location()}/data/{uuid.uuid4()}-{name}"


def _write(table: Table, location: str, data: bytes) -> None:
    with table.io.new_output(location).create() as stream:
        stream.write(data)


def _write_parquet(table: Table, location: str, rows: pa.Table) -> None:
    buffer = BytesIO()
    pq.write_table(rows, buffer)
    _write(table, location, buffer.getvalue())


def _path(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def _file(location: str, *, content: int, file_format: str, record_count: int) -> dict[str, Any]:
    return {
        "content": content,
        "file_path": location,
        "file_format": file_format,
        "partition": {},
        "record_count": record_count,
        "file_size_in_bytes": 1,
    }


def _commit(table: Table, files: list[dict[str, Any]], *, replace: bool = False) -> None:
    """A snapshot with one more manifest of deletes, or with this one only."""
    current = table.refresh().current_snapshot()
    assert current is not None
    snapshot_id, number = uuid.uuid4().int >> 66, table.last_sequence_number + 1
    kept = [
        manifest
        for manifest in current.manifests(table.io)
        if not replace or manifest.content == ManifestContent.DATA
    ]
    manifest = _write_manifest(table, snapshot_id, number, files)
    location = f"{table.location()}/metadata/snap-{snapshot_id}.avro"
    with write_manifest_list(
        table.metadata.format_version,
        table.io.new_output(location),
        snapshot_id,
        current.snapshot_id,
        number,
        "deflate",
    ) as writer:
        writer.add_manifests([manifest, *kept])
    snapshot = Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=current.snapshot_id,
        sequence_number=number,
        timestamp_ms=max(int(time.time() * 1000), current.timestamp_ms + 1),
        manifest_list=location,
        summary=Summary(operation=Operation.DELETE),
        schema_id=table.schema().schema_id,
    )
    updates: tuple[TableUpdate, ...] = (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate(
            ref_name="main",
            type=SnapshotRefType.BRANCH,
            snapshot_id=snapshot_id,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        ),
    )
    required: tuple[TableRequirement, ...] = (
        AssertRefSnapshotId(ref="main", snapshot_id=current.snapshot_id),
    )
    table.catalog.commit_table(table, required, updates)
    table.refresh()


def _write_manifest(
    table: Table, snapshot_id: int, number: int, files: list[dict[str, Any]]
) -> ManifestFile:
    location = f"{table.location()}/metadata/{uuid.uuid4()}-deletes.avro"
    entries = [{"status": 1, "snapshot_id": snapshot_id, "data_file": file} for file in files]
    headers = {
        "schema": table.schema().model_dump_json(),
        "schema-id": str(table.schema().schema_id),
        "partition-spec": "[]",
        "partition-spec-id": "0",
        "format-version": str(table.metadata.format_version),
        "content": "deletes",
    }
    buffer = BytesIO()
    fastavro.writer(buffer, _ENTRY, entries, codec="deflate", metadata=headers)
    _write(table, location, buffer.getvalue())
    return ManifestFile.from_args(
        manifest_path=location,
        manifest_length=buffer.tell(),
        partition_spec_id=0,
        content=ManifestContent.DELETES,
        sequence_number=number,
        min_sequence_number=number,
        added_snapshot_id=snapshot_id,
        added_files_count=len(files),
        existing_files_count=0,
        deleted_files_count=0,
        added_rows_count=sum(file["record_count"] for file in files),
        existing_rows_count=0,
        deleted_rows_count=0,
        partitions=[],
    )


def _field(name: str, type_: Any, id_: int, *, optional: bool = False) -> dict[str, Any]:
    if optional:
        return {"name": name, "type": ["null", type_], "default": None, "field-id": id_}
    return {"name": name, "type": type_, "field-id": id_}


# Iceberg specification, "Manifests"
_ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        _field("status", "int", 0),
        _field("snapshot_id", "long", 1, optional=True),
        _field("sequence_number", "long", 3, optional=True),
        _field("file_sequence_number", "long", 4, optional=True),
        _field(
            "data_file",
            {
                "type": "record",
                "name": "r2",
                "fields": [
                    _field("content", "int", 134),
                    _field("file_path", "string", 100),
                    _field("file_format", "string", 101),
                    _field("partition", {"type": "record", "name": "r102", "fields": []}, 102),
                    _field("record_count", "long", 103),
                    _field("file_size_in_bytes", "long", 104),
                    _field(
                        "equality_ids",
                        {"type": "array", "items": "int", "element-id": 136},
                        135,
                        optional=True,
                    ),
                    _field("referenced_data_file", "string", 143, optional=True),
                    _field("content_offset", "long", 144, optional=True),
                    _field("content_size_in_bytes", "long", 145, optional=True),
                ],
            },
            2,
        ),
    ],
}
