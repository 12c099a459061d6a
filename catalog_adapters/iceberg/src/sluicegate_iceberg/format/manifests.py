"""Manifest lists and manifests (Iceberg specification, "Manifests" and "Manifest Lists")."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException

from sluicegate.api import TableUnreadable
from sluicegate_iceberg.format.metadata import IcebergSnapshot
from sluicegate_iceberg.format.objects import TableObjects

DATA, DELETES = 0, 1
_DELETED = 2
_BROKEN = (
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    IndexError,
    OverflowError,
    zlib.error,
    SchemaParseException,
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A row of a manifest list.

    Attributes:
        content: `DATA` or `DELETES`.
        sequence_number: What entries without one inherit.
        snapshot_id: What entries without one inherit.
    """

    path: str
    content: int
    sequence_number: int
    snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A live file of a manifest, with what it inherits."""

    sequence_number: int
    snapshot_id: int | None
    file: Mapping[str, Any]


async def manifests_of(objects: TableObjects, snapshot: IcebergSnapshot | None) -> tuple[Manifest, ...]:
    """The manifests of a snapshot.

    Raises:
        TableUnreadable: The manifest list is missing or broken.
        StorageError: The store does not answer or refuses.
    """
    if snapshot is None:
        return ()
    if snapshot.manifest_list is None:
        return tuple(Manifest(path, DATA, 0, snapshot.id) for path in snapshot.manifests)
    return await listed_manifests(objects, snapshot.manifest_list)


async def listed_manifests(objects: TableObjects, location: str) -> tuple[Manifest, ...]:
    """What a manifest list names; raises as `manifests_of` does."""
    data = await objects.read(location)
    with _told():
        return tuple(map(_manifest, _rows(data)))


def schema_of(data: bytes) -> str:
    """The JSON of the schema that a manifest was written with; its files are not looked at.

    Raises:
        TableUnreadable: The manifest is broken.
    """
    with _told():
        return str(fastavro.reader(io.BytesIO(data)).metadata["schema"])


def entries_of(manifest: Manifest, data: bytes) -> tuple[Entry, ...]:
    """The live files of a manifest.

    Raises:
        TableUnreadable: The manifest is broken.
    """
    with _told():
        return tuple(_entry(manifest, row) for row in _rows(data) if row["status"] != _DELETED)


def _manifest(row: Mapping[str, Any]) -> Manifest:
    return Manifest(
        row["manifest_path"],
        row.get("content") or DATA,
        row.get("sequence_number") or 0,
        row.get("added_snapshot_id"),
    )


def _entry(manifest: Manifest, row: Mapping[str, Any]) -> Entry:
    sequence_number, snapshot_id = row.get("sequence_number"), row.get("snapshot_id")
    return Entry(
        manifest.sequence_number if sequence_number is None else sequence_number,
        manifest.snapshot_id if snapshot_id is None else snapshot_id,
        row["data_file"],
    )


def _rows(data: bytes) -> list[Any]:
    reader: Any = fastavro.reader(io.BytesIO(data))
    try:
        return list(reader)
    except (ValueError, OverflowError):
        # A partition may be of a date that Python does not know. Nobody needs partitions, but to leave
        # them out takes twice the time.
        return list(fastavro.reader(io.BytesIO(data), _without_partitions(reader.writer_schema)))


def _without_partitions(record: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of entries, or of a file, without the field that has the partition's values."""
    fields = (field for field in record["fields"] if field["name"] != "partition")
    kept = [
        {**field, "type": _without_partitions(field["type"])} if field["name"] == "data_file" else field
        for field in fields
    ]
    return {**record, "fields": kept}


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise TableUnreadable(
            "a manifest of the Iceberg table is broken", detail=f"{type(error).__name__}: {error}"
        ) from error
