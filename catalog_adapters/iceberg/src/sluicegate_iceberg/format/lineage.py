"""Snapshots of the main branch as versions.

A version is the snapshot's sequence number, which no later expiry or rollback gives to another one; in
format version 1, which has none, the snapshot's timestamp in milliseconds. Numbers have gaps: other
branches and rolled back snapshots took theirs. Of the snapshots that a table had before it was upgraded
from version 1 only the newest can be named, as version 0. A table without a snapshot has version 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluicegate.api import InvalidRequest
from sluicegate_iceberg.format.metadata import IcebergMetadata, IcebergSnapshot


@dataclass(frozen=True, slots=True)
class Version:
    """A version and its snapshot; `None` for the only version of a table without one."""

    number: int
    timestamp: int
    snapshot: IcebergSnapshot | None


class Lineage:
    """The versions that can be named, ascending.

    Args:
        metadata: What the newest metadata file says.
    """

    def __init__(self, metadata: IcebergMetadata) -> None:
        self.versions = tuple(_versions(metadata))[::-1]
        self._abandoned = frozenset(_abandoned(metadata))

    @property
    def latest(self) -> Version:
        """The newest version."""
        return self.versions[-1]

    def before(self, start: int) -> Version | None:
        """The version that comes before the first one from a number on; `None` where there is none.

        Raises:
            InvalidRequest: The table had another version before that number, which it went back from:
                who has read that one cannot be told what changed.
        """
        earlier = [version for version in self.versions if version.number < start]
        last = earlier[-1].number if earlier else -1
        if left := [number for number in self._abandoned if last < number < start]:
            raise InvalidRequest(
                f"the Iceberg table was rolled back from version {max(left)}, or replaced, so that "
                f"who has read that one cannot be told what changed from version {start} on: read the "
                f"table again, or start from version {last + 1}"
            )
        return earlier[-1] if earlier else None

    def at(self, number: int) -> Version:
        """The version of a number.

        Raises:
            InvalidRequest: There is none.
        """
        for version in self.versions:
            if version.number == number:
                return version
        raise InvalidRequest(
            f"version {number} of the Iceberg table does not exist or has expired: {self._range()}"
        )

    def until(self, timestamp: int) -> Version:
        """The newest version that was there at a time.

        Raises:
            InvalidRequest: All are younger.
        """
        for version in reversed(self.versions):
            if version.timestamp <= timestamp:
                return version
        raise InvalidRequest(
            f"no version of the Iceberg table is so old, or it has expired: {self._range()}"
        )

    def since(self, timestamp: int) -> Version:
        """The oldest version that came at a time or later.

        Raises:
            InvalidRequest: All are older.
        """
        for version in self.versions:
            if version.timestamp >= timestamp:
                return version
        raise InvalidRequest(f"no version of the Iceberg table is so young: {self._range()}")

    def _range(self) -> str:
        first, last = self.versions[0], self.versions[-1]
        return (
            f"versions {first.number} to {last.number} can be read, committed from "
            f"{first.timestamp} to {last.timestamp} (epoch milliseconds)"
        )


def _versions(metadata: IcebergMetadata) -> Iterator[Version]:
    """From the newest to the oldest."""
    if metadata.current is None:
        yield Version(0, metadata.last_updated, None)
    below: int | None = None
    for snapshot in _ancestors(metadata):
        number = _number(metadata, snapshot)
        if below is None or number < below:
            yield Version(number, snapshot.timestamp, snapshot)
            below = number


def _ancestors(metadata: IcebergMetadata) -> Iterator[IcebergSnapshot]:
    """The current snapshot and those that led to it."""
    snapshot, seen = metadata.current, set[int]()
    while snapshot is not None and snapshot.id not in seen:
        yield snapshot
        seen.add(snapshot.id)  # a broken table may name a snapshot as its own ancestor
        snapshot = None if snapshot.parent is None else metadata.snapshots.get(snapshot.parent)


def _abandoned(metadata: IcebergMetadata) -> Iterator[int]:
    """Numbers of versions that the table had, and that did not lead to the current one."""
    ancestors = {snapshot.id: snapshot for snapshot in _ancestors(metadata)}
    first = next(reversed(ancestors.values()), None)
    # Who replaces a table starts another line, and forgets what was current before.
    begins = _number(metadata, first) if first is not None and first.parent is None else 0
    for snapshot in metadata.snapshots.values():
        number = _number(metadata, snapshot)
        if snapshot.id not in ancestors and (snapshot.id in metadata.were_current or number < begins):
            yield number
    if metadata.format_version > 1 and begins > 1:
        yield 1  # it may have expired, as others may


def _number(metadata: IcebergMetadata, snapshot: IcebergSnapshot) -> int:
    return snapshot.timestamp if metadata.format_version == 1 else snapshot.sequence_number
