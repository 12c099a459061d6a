"""Writes the next snapshot of a converted Iceberg table, with as few new manifests as possible."""

from __future__ import annotations

import io
import secrets
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import anyio.to_thread
import fastavro
import obstore
from obstore.exceptions import BaseError

from sluicegate.api import ObjectDirectory, TaskFailed
from sluicegate_spark.conversion.to_iceberg.manifests import (
    ADDED,
    DELETED,
    EXISTING,
    Layout,
    manifest,
    manifest_list,
    partition_keys,
)

# The hidden folder keeps Delta's VACUUM and readers away.
METADATA_FOLDER: Final = "_iceberg"
_ENTRIES = 20_000  # per manifest
_KINDS: Mapping[int, str] = {ADDED: "added", EXISTING: "existing", DELETED: "deleted"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PreviousManifest:
    """A manifest of the previous snapshot.

    Attributes:
        row: Its row in the manifest list.
        entries: Its live files, with inherited values filled in.
    """

    row: Row
    entries: Sequence[Row]


@dataclass
class SnapshotWriter:
    """Writes one snapshot.

    Args:
        directory: The opened directory of the table.
        location: The location of this directory.
        layout: Properties of the manifests.
        sequence_number: Sequence number of the snapshot.
        parent: The previous snapshot, if there is one.
    """

    directory: ObjectDirectory
    location: str
    layout: Layout
    sequence_number: int
    parent: int | None
    id: int = field(default_factory=lambda: secrets.randbits(62) + 1)
    _name: str = field(default_factory=lambda: str(uuid4()))
    _rows: list[Row] = field(default_factory=list)

    async def carry_over(self, kept: PreviousManifest, live: Container[str]) -> None:
        """Carry over the live files of a manifest that uses the table's partition spec."""
        gone = [each for each in kept.entries if each["data_file"]["file_path"] not in live]
        if not gone and kept.row["partition_spec_id"] == self.layout.spec_id:
            self._rows.append(kept.row)
            return
        names = {id(each) for each in gone}
        await self.write(
            {
                **each,
                "status": DELETED if id(each) in names else EXISTING,
                "snapshot_id": self.id if id(each) in names else each["snapshot_id"],
                "data_file": self._renamed(each["data_file"]),
            }
            for each in kept.entries
        )

    async def write(self, entries: Iterable[Row]) -> None:
        """Write entries to new manifests."""
        batches = _batches(entries)
        while some := await anyio.to_thread.run_sync(next, batches, None):
            content = await anyio.to_thread.run_sync(manifest, self.layout, some)
            path = await self._put(f"{self._name}-m{len(self._rows)}.avro", content)
            self._rows.append(self._row(path, len(content), some))

    async def finish(self) -> str:
        """Write the manifest list, and return its location."""
        content = await anyio.to_thread.run_sync(
            manifest_list, self._rows, self.id, self.parent, self.sequence_number
        )
        return await self._put(f"snap-{self.id}-{self._name}.avro", content)

    def _renamed(self, file: Row) -> Row:
        """Apply the current names of partition columns, which might have been renamed."""
        keys = partition_keys(self.layout.partition)
        return {**file, "partition": dict(zip(keys, file["partition"].values(), strict=True))}

    def _row(self, path: str, length: int, entries: Sequence[Row]) -> Row:
        files: dict[str, int] = {}
        for status, kind in _KINDS.items():
            counts = [each["data_file"]["record_count"] for each in entries if each["status"] == status]
            files |= {f"{kind}_files_count": len(counts), f"{kind}_rows_count": sum(counts)}
        known = [each["sequence_number"] for each in entries if each["status"] == EXISTING]
        return {
            "manifest_path": path,
            "manifest_length": length,
            "partition_spec_id": self.layout.spec_id,
            "content": 0,
            "sequence_number": self.sequence_number,
            "min_sequence_number": min(known, default=self.sequence_number),
            "added_snapshot_id": self.id,
            **files,
        }

    async def _put(self, name: str, content: bytes) -> str:
        key = self.directory.key(f"{METADATA_FOLDER}/{name}")
        try:
            await obstore.put_async(self.directory.store, key, content)
        except (BaseError, OSError) as error:
            raise TaskFailed(
                "the table's storage does not accept the Iceberg table's metadata",
                error_code="STORAGE_FAILED",
                retryable=True,
                detail=f"{key}: {type(error).__name__}",
            ) from error
        return f"{self.location}/{METADATA_FOLDER}/{name}"


def read_manifest(row: Row, data: bytes) -> PreviousManifest:
    """Read a manifest of the table."""
    return PreviousManifest(
        row, [_inherited(row, each) for each in read_rows(data) if each["status"] != DELETED]
    )


def read_rows(data: bytes) -> Iterator[dict[str, Any]]:
    """Return the rows of a manifest or a manifest list."""
    for row in fastavro.reader(io.BytesIO(data)):
        if isinstance(row, dict):
            yield row


def _inherited(row: Row, entry: Row) -> Row:
    """Fill in values inherited from the manifest list ("Sequence Number Inheritance")."""
    own = {name: value for name, value in entry.items() if value is not None}
    number = row["sequence_number"]
    return {
        "snapshot_id": row["added_snapshot_id"],
        "sequence_number": number,
        "file_sequence_number": number,
        **own,
    }


def _batches(entries: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == _ENTRIES:
            yield batch
            batch = []
    if batch:
        yield batch
