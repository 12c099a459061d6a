"""Writes the manifests and the manifest list of the next snapshot of a converted Iceberg table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError

from sluicegate.api import StorageError
from sluicegate_spark.conversion.to_iceberg.manifests import (
    ADDED,
    DELETED,
    EXISTING,
    Layout,
    manifest,
    manifest_list,
    partition_keys,
    records,
)
from sluicegate_spark.conversion.to_iceberg.partition_summaries import summaries
from sluicegate_spark.conversion.to_iceberg.value_encoding import stored_value
from sluicegate_spark.objects import ObjectAccess

# The hidden folder keeps Delta's VACUUM and readers away.
METADATA_FOLDER: Final = "_iceberg"
ENTRIES: Final = 20_000
"""Number of entries in a manifest."""
_KINDS: Mapping[int, str] = {ADDED: "added", EXISTING: "existing", DELETED: "deleted"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SnapshotWriter:
    """Writes one snapshot. It can be sent to other machines, which write manifests without event loops.

    Manifests have unique names: those of repeated Spark tasks and failed attempts are never referenced.
    """

    access: ObjectAccess
    location: str
    layout: Layout
    id: int
    sequence_number: int
    parent: int | None

    def write(self, entries: Iterable[Row]) -> Iterator[dict[str, Any]]:
        """Write entries to new manifests, and return their rows for the manifest list."""
        remaining = iter(entries)
        while some := list(islice(remaining, ENTRIES)):
            content = manifest(self.layout, some)
            path = self._put(f"{uuid4()}-m.avro", content)
            yield self._row(path, len(content), some)

    def rewrite(self, row: Row, data: bytes, removed: Collection[str]) -> Iterator[dict[str, Any]]:
        """Write the live files of a manifest again, without some files."""
        live = (_inherited(row, each) for each in records(data) if each["status"] != DELETED)
        return self.write(self._carried(each, removed) for each in live)

    def finish(self, rows: Iterable[Row]) -> str:
        """Write the manifest list, and return its location."""
        content = manifest_list(rows, self.id, self.parent, self.sequence_number)
        return self._put(f"snap-{self.id}-{uuid4()}.avro", content)

    def _carried(self, entry: Row, removed: Collection[str]) -> Row:
        file = entry["data_file"]
        is_gone = file["file_path"] in removed
        return {
            **entry,
            "status": DELETED if is_gone else EXISTING,
            "snapshot_id": self.id if is_gone else entry["snapshot_id"],
            "data_file": {**file, "partition": self._partition(file["partition"])},
        }

    def _partition(self, partition: Row) -> dict[str, Any]:
        """Return partition values under the columns' current names: columns might have been renamed."""
        columns = self.layout.partition
        values = (
            stored_value(value, column.type)
            for value, column in zip(partition.values(), columns, strict=True)
        )
        return dict(zip(partition_keys(columns), values, strict=True))

    def _row(self, path: str, length: int, entries: Sequence[Row]) -> dict[str, Any]:
        files: dict[str, int] = {}
        for status, kind in _KINDS.items():
            counts = [each["data_file"]["record_count"] for each in entries if each["status"] == status]
            files |= {f"{kind}_files_count": len(counts), f"{kind}_rows_count": sum(counts)}
        known = [each["sequence_number"] for each in entries if each["status"] == EXISTING]
        partitions = (tuple(each["data_file"]["partition"].values()) for each in entries)
        return {
            "manifest_path": path,
            "manifest_length": length,
            "partition_spec_id": self.layout.spec_id,
            "content": 0,
            "sequence_number": self.sequence_number,
            "min_sequence_number": min(known, default=self.sequence_number),
            "added_snapshot_id": self.id,
            **files,
            "partitions": summaries(self.layout.partition, partitions),
        }

    def _put(self, name: str, content: bytes) -> str:
        directory = self.access.directory(self.location)
        key = directory.key(f"{METADATA_FOLDER}/{name}")
        try:
            obstore.put(directory.store, key, content)
        except (BaseError, OSError) as error:
            raise StorageError(
                "the table's storage does not accept the Iceberg table's metadata",
                detail=f"{key}: {type(error).__name__}",
            ) from error
        return f"{self.location}/{METADATA_FOLDER}/{name}"


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
