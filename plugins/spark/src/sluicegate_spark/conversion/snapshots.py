"""The next snapshot of a converted Iceberg table: its manifests, as few of them new as can be."""

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
from sluicegate_spark.conversion.manifests import (
    ADDED,
    DELETED,
    EXISTING,
    Layout,
    manifest,
    manifest_list,
    partition_keys,
)

# Hidden, so that neither Delta's VACUUM nor its readers look into it.
FOLDER: Final = "_iceberg"
_ENTRIES = 20_000  # of one manifest
_KINDS: Mapping[int, str] = {ADDED: "added", EXISTING: "existing", DELETED: "deleted"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class KeptManifest:
    """A manifest of the snapshot before.

    Attributes:
        row: Of its manifest list.
        entries: Its live files, with what they inherit.
    """

    row: Row
    entries: Sequence[Row]


@dataclass
class Writing:
    """Makes one snapshot.

    Args:
        directory: The table's.
        location: The same.
        layout: Of the manifests.
        sequence_number: Of the snapshot.
        parent: The snapshot before, if there is one.
    """

    directory: ObjectDirectory
    location: str
    layout: Layout
    sequence_number: int
    parent: int | None
    id: int = field(default_factory=lambda: secrets.randbits(62) + 1)
    _name: str = field(default_factory=lambda: str(uuid4()))
    _rows: list[Row] = field(default_factory=list)

    async def keep(self, kept: KeptManifest, live: Container[str]) -> None:
        """Take a manifest over, without the files that live no more."""
        gone = [each for each in kept.entries if each["data_file"]["file_path"] not in live]
        if not gone:
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
        """Write entries into manifests of their own."""
        batches = _batches(entries)
        while some := await anyio.to_thread.run_sync(next, batches, None):
            content = await anyio.to_thread.run_sync(manifest, self.layout, some)
            path = await self._put(f"{self._name}-m{len(self._rows)}.avro", content)
            self._rows.append(self._row(path, len(content), some))

    async def finish(self) -> str:
        """Write the manifest list; its location."""
        content = await anyio.to_thread.run_sync(
            manifest_list, self._rows, self.id, self.parent, self.sequence_number
        )
        return await self._put(f"snap-{self.id}-{self._name}.avro", content)

    def _renamed(self, file: Row) -> Row:
        """Partition columns may have been renamed since."""
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
            "partition_spec_id": 0,
            "content": 0,
            "sequence_number": self.sequence_number,
            "min_sequence_number": min(known, default=self.sequence_number),
            "added_snapshot_id": self.id,
            **files,
        }

    async def _put(self, name: str, content: bytes) -> str:
        key = self.directory.key(f"{FOLDER}/{name}")
        try:
            await obstore.put_async(self.directory.store, key, content)
        except (BaseError, OSError) as error:
            raise TaskFailed(
                "the table's storage does not take the Iceberg table's metadata",
                error_code="STORAGE_FAILED",
                retryable=True,
                detail=f"{key}: {type(error).__name__}",
            ) from error
        return f"{self.location}/{FOLDER}/{name}"


def kept_manifest(row: Row, data: bytes) -> KeptManifest:
    """What a manifest of the table's own says."""
    return KeptManifest(
        row, [_inherited(row, each) for each in rows_of(data) if each["status"] != DELETED]
    )


def rows_of(data: bytes) -> Iterator[dict[str, Any]]:
    """The rows of a manifest or a manifest list."""
    for row in fastavro.reader(io.BytesIO(data)):
        if isinstance(row, dict):
            yield row


def _inherited(row: Row, entry: Row) -> Row:
    """An entry with what new ones take from their manifest list ("Sequence Number Inheritance")."""
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
