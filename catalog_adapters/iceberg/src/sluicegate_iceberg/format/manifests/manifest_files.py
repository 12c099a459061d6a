"""Reads manifest lists and manifests (Iceberg specification, "Manifests" and "Manifest Lists")."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.api import Budget
from sluicegate_iceberg.format.broken import in_file, named
from sluicegate_iceberg.format.manifests.avro import AvroFile
from sluicegate_iceberg.format.manifests.avro_schema import manifest_list_schema, manifest_schema
from sluicegate_iceberg.format.metadata.metadata_file import IcebergSnapshot
from sluicegate_iceberg.format.objects import TableObjects

DATA, DELETES = 0, 1
_DELETED = 2
_MANIFEST_BYTES = 200  # memory of a manifest without its path


@dataclass(frozen=True, slots=True)
class Manifest:
    """A row of a manifest list.

    Attributes:
        live: Number of live files in the manifest; `None` if the manifest list has no counts.
        spec_id: The partition spec of its files; `None` if there is no manifest list.
    """

    path: str
    content: int
    sequence_number: int
    snapshot_id: int | None
    live: int | None = None
    spec_id: int | None = None

    @property
    def called(self) -> str:
        """Return a description of the file for error messages."""
        return named("manifest", self.path)


@dataclass(frozen=True, slots=True)
class Entry:
    """A live file of a manifest, with inherited values filled in."""

    sequence_number: int
    snapshot_id: int | None
    file: Mapping[str, Any]


async def manifests_of(objects: TableObjects, snapshot: IcebergSnapshot | None) -> tuple[Manifest, ...]:
    """Return the manifests of a snapshot."""
    if snapshot is None:
        return ()
    if snapshot.manifest_list is None:
        return tuple(Manifest(path, DATA, 0, snapshot.id) for path in snapshot.manifests)
    return await listed_manifests(objects, snapshot.manifest_list)


async def listed_manifests(objects: TableObjects, location: str) -> tuple[Manifest, ...]:
    """Return the manifests in a manifest list. Raises the same errors as `manifests_of`."""
    data = await objects.read(location)
    return await objects.decode(manifests_in, location, data, objects.budget)


def manifests_in(location: str, data: bytes, budget: Budget) -> tuple[Manifest, ...]:
    """Return the manifests in the content of a manifest list."""
    what = named("manifest list", location)
    with in_file(what):
        file = AvroFile(data, what, budget)
        found = []
        for row in file.rows(manifest_list_schema(file.json("avro.schema"))):
            found.append(_manifest(row))
            budget.take(what, bytes=_MANIFEST_BYTES + sys.getsizeof(found[-1].path))
        return tuple(found)


def schema_of(manifest: Manifest, data: bytes, budget: Budget) -> str:
    """Return the JSON of the schema that a manifest was written with, without decoding entries."""
    with in_file(manifest.called):
        return AvroFile(data, manifest.called, budget).headers["schema"].decode()


def entries_of(manifest: Manifest, data: bytes, budget: Budget) -> Iterator[Entry]:
    """Yield the live files of a manifest, decoded on demand.

    Decoded entries need a hundred times the size of the file.
    """
    with in_file(manifest.called):
        file = AvroFile(data, manifest.called, budget)
        for row in file.rows(manifest_schema(file.json("avro.schema"))):
            if row["status"] != _DELETED:
                yield _entry(manifest, row)


def _manifest(row: Mapping[str, Any]) -> Manifest:
    path = row["manifest_path"]
    if path is None:
        raise ValueError("a manifest has no path")
    return Manifest(
        path,
        row.get("content") or DATA,
        row.get("sequence_number") or 0,
        row.get("added_snapshot_id"),
        _live(row),
        row.get("partition_spec_id"),
    )


def _live(row: Mapping[str, Any]) -> int | None:
    # Writers used the second names before version 2 of the format.
    counts = [
        row.get(f"{kind}_files_count", row.get(f"{kind}_data_files_count"))
        for kind in ("added", "existing")
    ]
    return None if None in counts else sum(counts)


def _entry(manifest: Manifest, row: Mapping[str, Any]) -> Entry:
    sequence_number, snapshot_id = row.get("sequence_number"), row.get("snapshot_id")
    file = row["data_file"]
    if file["file_path"] is None:
        raise ValueError("a file has no path")
    return Entry(
        manifest.sequence_number if sequence_number is None else sequence_number,
        manifest.snapshot_id if snapshot_id is None else snapshot_id,
        file,
    )
