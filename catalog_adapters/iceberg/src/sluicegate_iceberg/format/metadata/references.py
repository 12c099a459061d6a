"""Finds the snapshot that a branch or tag names (Iceberg specification, "Snapshot References")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sluicegate.api import TableUnreadable
from sluicegate.formats import no_such_ref
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata, IcebergSnapshot
from sluicegate_iceberg.format.metadata.schema import Struct

MAIN: Final = "main"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest snapshot of a branch, or the snapshot of a tag.

    Attributes:
        snapshot: `None` for the main branch of a table without a snapshot.
    """

    snapshot: IcebergSnapshot | None
    is_main: bool
    is_tag: bool

    def schema(self, metadata: IcebergMetadata) -> Struct:
        """Return the schema to read with: a tag has that of its snapshot, a branch the table's."""
        if self.is_tag:
            return metadata.schema_of(self.snapshot)
        return metadata.schemas[metadata.current_schema_id]


def head_of(metadata: IcebergMetadata, ref: str | None) -> Head:
    """Return the snapshot to read."""
    if ref is None or ref == MAIN:
        return Head(metadata.current, is_main=True, is_tag=False)
    found = metadata.refs.get(ref)
    if found is None:
        raise no_such_ref(ref, {MAIN, *metadata.refs})
    snapshot = metadata.snapshots.get(found.snapshot_id)
    if snapshot is None:
        raise TableUnreadable(
            "the snapshot at which the table is shared is missing from the Iceberg table's metadata: "
            "the provider must repair the table",
            detail=f"{ref!r} names the snapshot {found.snapshot_id}",
        )
    return Head(snapshot, is_main=False, is_tag=found.is_tag)
