"""Commit times of versions (Delta protocol, "In-Commit Timestamps").

A commit's timestamp is its in-commit timestamp if the table has these. Otherwise, it is the file's
modification time, adjusted to be later than that of the previous commit: timestamps grow with versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import orjson

from sluicegate._util.clock import iso_utc
from sluicegate.api.errors import InvalidRequest, TableUnreadable
from sluicegate.tables.delta.log_files.commits import read_actions
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.segment import LogListing
from sluicegate.tables.delta.log_files.store import LogStore, cleaned_up_meanwhile
from sluicegate.tables.snapshot import TableMetadata

_FIRST_LINE = 64 * 1024


def in_commit_since(metadata: TableMetadata) -> int | None:
    """The version from which on commits contain their timestamp. `None` if they do not."""
    configuration = metadata.configuration
    if configuration.get("delta.enableInCommitTimestamps", "").lower() != "true":
        return None
    try:
        return int(configuration.get("delta.inCommitTimestampEnablementVersion", "0"))
    except ValueError:
        raise TableUnreadable(
            "the table property delta.inCommitTimestampEnablementVersion is not a version number"
        ) from None


async def in_commit_timestamp(store: LogStore, commit: LogFile) -> int:
    """Read the in-commit timestamp from the first line; else the modification time counts."""
    with cleaned_up_meanwhile():
        if commit.size > _FIRST_LINE:
            timestamp = _first_line_timestamp(bytes(await store.read(commit.name, _FIRST_LINE)))
            if timestamp is not None:
                return timestamp
        actions = await read_actions(store, commit, "")
        return commit.modified if actions.in_commit_timestamp is None else actions.in_commit_timestamp


def _first_line_timestamp(head: bytes) -> int | None:
    """The timestamp at the position that the protocol defines, `None` if it is missing."""
    try:
        return int(orjson.loads(head.partition(b"\n")[0])["commitInfo"]["inCommitTimestamp"])
    except (ValueError, KeyError, TypeError):
        return None


def modification_timestamps(commits: Iterable[LogFile], previous: int | None = None) -> dict[int, int]:
    """Timestamps by version from the modification times of commits."""
    timestamps: dict[int, int] = {}
    for commit in commits:
        previous = after(previous, commit.modified)
        timestamps[commit.version] = previous
    return timestamps


def commit_timestamps(
    commits: Sequence[LogFile], in_commit: Sequence[int | None], before: int | None, since: int | None
) -> list[int]:
    """Timestamps of successive commits that were read."""
    modified = modification_timestamps(commits, before)
    return [
        own or commit.modified
        if since is not None and commit.version >= since
        else modified[commit.version]
        for commit, own in zip(commits, in_commit, strict=True)
    ]


def after(previous: int | None, modified: int) -> int:
    """A modification time, adjusted to be later than the timestamp of the previous version."""
    return modified if previous is None else max(modified, previous + 1)


class Timeline:
    """Finds versions by timestamp. In-commit timestamps are read as the search needs them."""

    def __init__(self, store: LogStore, listing: LogListing, metadata: TableMetadata) -> None:
        self._store = store
        self._commits = listing.commits
        self._modified = modification_timestamps(_dated(listing))
        self._in_commit_since = in_commit_since(metadata)

    async def latest_until(self, timestamp: int, first: int, last: int) -> int:
        """The latest version at or before a timestamp.

        A timestamp after the last version is rejected, as in Delta's own readers, because its meaning
        would change with the next commit.
        """
        version = await self._first_after(timestamp, first, last) - 1
        if version < first:
            raise InvalidRequest(
                f"the timestamp {iso_utc(timestamp)} is before the earliest version of the table that "
                f"can be read: version {first} of {iso_utc(await self._timestamp(first))}"
            )
        if version == last and timestamp > await self._timestamp(last):
            raise await self._too_late(timestamp, last)
        return version

    async def earliest_from(self, timestamp: int, first: int, last: int) -> int:
        """The earliest version at or after a timestamp."""
        version = await self._first_after(timestamp - 1, first, last)
        if version > last:
            raise await self._too_late(timestamp, last)
        return version

    async def _too_late(self, timestamp: int, last: int) -> InvalidRequest:
        return InvalidRequest(
            f"the timestamp {iso_utc(timestamp)} is after the latest version of the table: "
            f"version {last} of {iso_utc(await self._timestamp(last))}"
        )

    async def _first_after(self, timestamp: int, low: int, high: int) -> int:
        """The first version with a greater timestamp, `high + 1` if there is none."""
        while low <= high:
            middle = (low + high) // 2
            if await self._timestamp(middle) > timestamp:
                high = middle - 1
            else:
                low = middle + 1
        return low

    async def _timestamp(self, version: int) -> int:
        since, commit = self._in_commit_since, self._commits.get(version)
        if since is None or version < since or commit is None:
            return self._modified[version]
        return await in_commit_timestamp(self._store, commit)


def _dated(listing: LogListing) -> Iterator[LogFile]:
    """The commits, and the newest checkpoint if it represents a version without a commit."""
    yield from listing.commits.values()
    for newest in listing.checkpoints[:1]:
        if newest.version == listing.latest and newest.version not in listing.commits:
            yield newest.files[-1]
