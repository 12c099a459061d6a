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

    @property
    def latest(self) -> Version:
        """The newest version."""
        return self.versions[-1]

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
    snapshot = metadata.current
    if snapshot is None:
        yield Version(0, metadata.last_updated, None)
    below: int | None = None
    while snapshot is not None:
        number = snapshot.timestamp if metadata.format_version == 1 else snapshot.sequence_number
        if below is None or number < below:
            yield Version(number, snapshot.timestamp, snapshot)
            below = number
        parent = snapshot.parent
        snapshot = None if parent is None else metadata.snapshots.get(parent)
