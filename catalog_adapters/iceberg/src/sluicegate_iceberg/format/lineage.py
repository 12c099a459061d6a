"""Maps snapshots of a branch or tag to versions.

A version is the snapshot's sequence number, which is not reused after expiry or rollback. Format
version 1 has no sequence numbers; there, it is the snapshot's timestamp in milliseconds. Numbers have
gaps, because snapshots of other branches and rolled back snapshots also have numbers. Of the
snapshots that a table had before it was upgraded from version 1, only the newest can be addressed, as
version 0. A table without a snapshot has version 0.

The versions of a branch are its snapshot and the ancestors of that. A tag has one version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sluicegate.api import InvalidRequest, TableUnreadable
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


@dataclass(frozen=True, slots=True)
class Version:
    """A version and its snapshot; `None` for the only version of a table without one."""

    number: int
    timestamp: int
    snapshot: IcebergSnapshot | None


class Lineage:
    """The addressable versions, in ascending order.

    Attributes:
        is_tag: Whether there is only the version that a tag names.
    """

    def __init__(self, metadata: IcebergMetadata, ref: str | None = None) -> None:
        head = head_of(metadata, ref)
        self.is_tag = head.is_tag
        self.schema = head.schema(metadata)
        self.versions = tuple(_versions(metadata, head))[::-1]
        self._abandoned = frozenset(_abandoned(metadata, head))

    @property
    def latest(self) -> Version:
        """Return the newest version."""
        return self.versions[-1]

    def before(self, start: int) -> Version | None:
        """Return the version that precedes the first one with at least this number, or `None`."""
        earlier = [version for version in self.versions if version.number < start]
        last = earlier[-1].number if earlier else -1
        if left := [number for number in self._abandoned if last < number < start]:
            raise InvalidRequest(
                f"the Iceberg table was rolled back from version {max(left)}, or replaced, so its "
                f"readers cannot get the changes from version {start} on: read the table again, or "
                f"start from version {last + 1}"
            )
        return earlier[-1] if earlier else None

    def at(self, number: int) -> Version:
        """Return the version with a number."""
        for version in self.versions:
            if version.number == number:
                return version
        raise InvalidRequest(
            f"version {number} of the Iceberg table does not exist or has expired: {self._range()}"
        )

    def until(self, timestamp: int) -> Version:
        """Return the newest version that existed at a time."""
        for version in reversed(self.versions):
            if version.timestamp <= timestamp:
                return version
        raise InvalidRequest(
            f"the Iceberg table had no version at that time, or it has expired: {self._range()}"
        )

    def since(self, timestamp: int) -> Version:
        """Return the oldest version that was committed at a time or later."""
        for version in self.versions:
            if version.timestamp >= timestamp:
                return version
        raise InvalidRequest(f"the Iceberg table has no version at or after that time: {self._range()}")

    def _range(self) -> str:
        first, last = self.versions[0], self.versions[-1]
        return (
            f"versions {first.number} to {last.number} can be read, committed from "
            f"{first.timestamp} to {last.timestamp} (epoch milliseconds)"
        )


def _versions(metadata: IcebergMetadata, head: Head) -> Iterator[Version]:
    """Return versions from newest to oldest."""
    if head.snapshot is None:
        yield Version(0, metadata.last_updated, None)
    below: int | None = None
    for snapshot in _line(metadata, head):
        number = _number(metadata, snapshot)
        if below is None or number < below:
            yield Version(number, snapshot.timestamp, snapshot)
            below = number


def _line(metadata: IcebergMetadata, head: Head) -> Iterator[IcebergSnapshot]:
    """Return the snapshots that are versions, from newest to oldest."""
    if head.is_tag:
        return iter(() if head.snapshot is None else (head.snapshot,))
    return _ancestors(metadata, head.snapshot, set())


def _ancestors(
    metadata: IcebergMetadata, snapshot: IcebergSnapshot | None, seen: set[int]
) -> Iterator[IcebergSnapshot]:
    """Return a snapshot and its ancestors, up to the first one in `seen`, and add them to it."""
    while snapshot is not None and snapshot.id not in seen:
        yield snapshot
        seen.add(snapshot.id)  # a broken table might name a snapshot as its own ancestor
        snapshot = None if snapshot.parent is None else metadata.snapshots.get(snapshot.parent)


def _abandoned(metadata: IcebergMetadata, head: Head) -> Iterator[int]:
    """Return numbers of versions that might have been the newest one, but are not ancestors of it."""
    ancestors = {snapshot.id: snapshot for snapshot in _line(metadata, head)}
    first = next(reversed(ancestors.values()), None)
    # Replacing a table starts a new line of versions, and drops earlier current ones.
    begins = _number(metadata, first) if first is not None and first.parent is None else 0
    were_newest = metadata.were_current if head.is_main else _unreferenced(metadata)
    for snapshot in metadata.snapshots.values():
        number = _number(metadata, snapshot)
        replaced = head.is_main and number < begins
        if snapshot.id not in ancestors and (snapshot.id in were_newest or replaced):
            yield number
    if metadata.format_version > 1 and begins > 1:
        yield 1  # might have expired, as others might


def _unreferenced(metadata: IcebergMetadata) -> frozenset[int]:
    """Return ids of snapshots that no branch or tag leads to.

    Metadata has a log of the main branch only. If another branch is replaced, its own snapshots remain
    without a reference until they expire.
    """
    seen: set[int] = set()
    heads = [
        metadata.current,
        *(metadata.snapshots.get(ref.snapshot_id) for ref in metadata.refs.values()),
    ]
    for head in heads:
        for _ in _ancestors(metadata, head, seen):
            pass
    return frozenset(metadata.snapshots.keys() - seen)


def _number(metadata: IcebergMetadata, snapshot: IcebergSnapshot) -> int:
    return snapshot.timestamp if metadata.format_version == 1 else snapshot.sequence_number
