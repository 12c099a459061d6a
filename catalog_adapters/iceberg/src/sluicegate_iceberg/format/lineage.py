"""Maps snapshots of the main branch to versions.

A version is the snapshot's sequence number, which is not reused after expiry or rollback. Format
version 1 has no sequence numbers; there, it is the snapshot's timestamp in milliseconds. Numbers have
gaps, because snapshots of other branches and rolled back snapshots also have numbers. Of the
snapshots that a table had before it was upgraded from version 1, only the newest can be addressed, as
version 0. A table without a snapshot has version 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluicegate.api import InvalidRequest
from sluicegate_iceberg.format.metadata.metadata_file import IcebergMetadata, IcebergSnapshot


@dataclass(frozen=True, slots=True)
class Version:
    """A version and its snapshot; `None` for the only version of a table without one."""

    number: int
    timestamp: int
    snapshot: IcebergSnapshot | None


class Lineage:
    """The addressable versions, in ascending order.

    Args:
        metadata: The newest metadata file.
    """

    def __init__(self, metadata: IcebergMetadata) -> None:
        self.versions = tuple(_versions(metadata))[::-1]
        self._abandoned = frozenset(_abandoned(metadata))

    @property
    def latest(self) -> Version:
        """Return the newest version."""
        return self.versions[-1]

    def before(self, start: int) -> Version | None:
        """Return the version that precedes the first one with at least this number, or `None`.

        Raises:
            InvalidRequest: The table was rolled back from another version before that number. The
                changes since that version can't be reported to its readers.
        """
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
        """Return the version with a number.

        Raises:
            InvalidRequest: It doesn't exist.
        """
        for version in self.versions:
            if version.number == number:
                return version
        raise InvalidRequest(
            f"version {number} of the Iceberg table does not exist or has expired: {self._range()}"
        )

    def until(self, timestamp: int) -> Version:
        """Return the newest version that existed at a time.

        Raises:
            InvalidRequest: All versions are newer.
        """
        for version in reversed(self.versions):
            if version.timestamp <= timestamp:
                return version
        raise InvalidRequest(
            f"the Iceberg table had no version at that time, or it has expired: {self._range()}"
        )

    def since(self, timestamp: int) -> Version:
        """Return the oldest version that was committed at a time or later.

        Raises:
            InvalidRequest: All versions are older.
        """
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


def _versions(metadata: IcebergMetadata) -> Iterator[Version]:
    """Return versions from newest to oldest."""
    if metadata.current is None:
        yield Version(0, metadata.last_updated, None)
    below: int | None = None
    for snapshot in _ancestors(metadata):
        number = _number(metadata, snapshot)
        if below is None or number < below:
            yield Version(number, snapshot.timestamp, snapshot)
            below = number


def _ancestors(metadata: IcebergMetadata) -> Iterator[IcebergSnapshot]:
    """Return the current snapshot and its ancestors."""
    snapshot, seen = metadata.current, set[int]()
    while snapshot is not None and snapshot.id not in seen:
        yield snapshot
        seen.add(snapshot.id)  # a broken table might name a snapshot as its own ancestor
        snapshot = None if snapshot.parent is None else metadata.snapshots.get(snapshot.parent)


def _abandoned(metadata: IcebergMetadata) -> Iterator[int]:
    """Return numbers of versions that are not ancestors of the current one."""
    ancestors = {snapshot.id: snapshot for snapshot in _ancestors(metadata)}
    first = next(reversed(ancestors.values()), None)
    # Replacing a table starts a new line of versions, and drops earlier current ones.
    begins = _number(metadata, first) if first is not None and first.parent is None else 0
    for snapshot in metadata.snapshots.values():
        number = _number(metadata, snapshot)
        if snapshot.id not in ancestors and (snapshot.id in metadata.were_current or number < begins):
            yield number
    if metadata.format_version > 1 and begins > 1:
        yield 1  # might have expired, as others might


def _number(metadata: IcebergMetadata, snapshot: IcebergSnapshot) -> int:
    return snapshot.timestamp if metadata.format_version == 1 else snapshot.sequence_number
