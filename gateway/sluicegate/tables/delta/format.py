"""The Delta table format: the gateway reads snapshots from the log itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import anyio

from sluicegate.api import CatalogTable, InvalidRequest, NotFound, ObjectDirectory, TableFormat
from sluicegate.api.budget import TableTooLarge
from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.changes import Changes, Commit, CommitFiles
from sluicegate.tables.delta.history import History, HistoryCache, Outline, Start
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.delta.log_files.added_files import AddedFiles
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.segment import LogListing
from sluicegate.tables.delta.protocol import check_readable, check_shareable
from sluicegate.tables.delta.removals import Removals
from sluicegate.tables.delta.timestamps import Timeline, commit_timestamps, in_commit_since
from sluicegate.tables.delta.versions import earlier_versions
from sluicegate.tables.snapshot import Snapshot
from sluicegate.tables.versions import DescribedVersion
from sluicegate.telemetry import span

COMMITS_BYTES = 64_000_000


class DeltaFormat(TableFormat):
    """Reads Delta tables up to reader version 3, including catalog-managed ones (Delta protocol).

    Args:
        commits_bytes: Memory for cached commits of streams and change feeds.
    """

    def __init__(self, commits_bytes: int = COMMITS_BYTES) -> None:
        self._commits = HistoryCache(commits_bytes)

    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        """See `TableFormat.latest`: an unchanged table costs one listing from its newest commit."""
        with span("snapshot"):
            log = DeltaLog(table, directory)
            advanced = None if previous is None else await log.advance(previous)
            return advanced or await _load_latest(log)

    async def at_version(
        self, table: CatalogTable, directory: ObjectDirectory, version: int
    ) -> Snapshot:
        """See `TableFormat.at_version`."""
        with span("snapshot", version=version):
            log = DeltaLog(table, directory)
            listing = await log.listing()
            first, last = _range(listing)
            if not first <= version <= last:
                raise InvalidRequest(
                    f"version {version} of the table does not exist or can no longer be rebuilt: "
                    f"versions {first} to {last} can be read"
                )
            return await log.load(listing, version)

    async def version_at(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        timestamp: int,
        *,
        earliest_after: bool,
    ) -> int:
        """See `TableFormat.version_at`."""
        with span("version_at"):
            log = DeltaLog(table, directory)
            listing = await log.listing()
            timeline = Timeline(log.store, listing, latest.metadata)
            _, last = _range(listing)
            first = listing.unbroken(last)
            if earliest_after:
                return await timeline.earliest_from(timestamp, first, last)
            return await timeline.latest_until(timestamp, first, last)

    async def earlier_versions(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        limit: int,
    ) -> Sequence[DescribedVersion]:
        """See `TableFormat.earlier_versions`: one listing, and each commit is read once."""
        with span("versions", start=start):
            log = DeltaLog(table, directory)
            history = History(log.store, table, self._commits)
            return await earlier_versions(table, log, history, latest, start, limit)

    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        """See `TableFormat.changes`: one listing, and no other request if the range was read before."""
        with span("changes", start=start, end=end):
            log = DeltaLog(table, directory)
            history = History(log.store, table, self._commits)
            commits = _unbroken(await log.listing(start), start, end)
            began = history.known_start(commits[0]) if commits else None
            if began is None:
                listing = await log.listing()
                began = await history.start(listing, commits[0]) if commits else None
                if began is None:
                    raise _cleaned_up(start, listing)
            outlines = await history.outlines(commits)
            lacking = [file for file, each in zip(commits, outlines, strict=True) if each.incomplete]
            added = await Removals(log, history).added(lacking)
            in_commit = in_commit_since(latest.metadata)
            changes = Changes(
                start=began.state,
                commits=_commits(commits, outlines, began, in_commit, added),
                read=partial(_read, history, {file.version: file for file in commits}, added),
            )
            for state in changes.states():
                check_readable(state.protocol, by_catalog=table.latest_version is not None)
                check_shareable(state.metadata)
            return changes


async def _load_latest(log: DeltaLog) -> Snapshot:
    """Load from the checkpoint that `_last_checkpoint` names, or from a listing of the entire log."""
    hint = await log.checkpoint_hint()
    if hint is not None:
        listing = await log.listing(hint)
        if listing.latest is not None:
            try:
                return await log.load(listing, listing.latest)
            except TableTooLarge:
                raise
            except TableUnreadable:
                pass  # an older checkpoint, or the commits from 0 on, might be sufficient
    listing = await log.listing()
    return await log.load(listing, _range(listing)[1])


def _range(listing: LogListing) -> tuple[int, int]:
    """The first version that can be rebuilt, and the last one."""
    if listing.latest is None:
        raise NotFound("there is no Delta table: its location has no _delta_log with commits")
    if listing.earliest is None:
        raise TableUnreadable(
            "the Delta log has no complete checkpoint "
            f"and lacks commit {listing.missing(listing.latest)}"
        )
    return listing.earliest, listing.latest


def _unbroken(listing: LogListing, start: int, end: int) -> list[LogFile]:
    """The commits of a range of versions. Empty if the first of them no longer exist."""
    first = end + 1
    while first > start and first - 1 in listing.commits:
        first -= 1
    if first > end:
        raise InvalidRequest(f"the table's log lacks commit {end}, so its changes cannot be determined")
    if first > start:
        return []
    return [listing.commits[version] for version in range(start, end + 1)]


def _cleaned_up(version: int, listing: LogListing) -> InvalidRequest:
    _, last = _range(listing)
    first = listing.unbroken(last)
    return InvalidRequest(
        f"changes cannot be read from version {version} on, as the table's log was cleaned up: "
        f"version {first} is the earliest to start from"
    )


async def _read(
    history: History,
    files: Mapping[int, LogFile],
    added: Mapping[int, AddedFiles],
    commits: Sequence[Commit],
) -> list[CommitFiles]:
    """The files of some commits, completed with what the removes of old writers lack."""
    found = await history.files([files[commit.version] for commit in commits])
    for number, commit in enumerate(commits):
        if commit.version in added:
            complete = added[commit.version].completed
            found[number] = await anyio.to_thread.run_sync(complete, found[number])
    return found


def _commits(
    files: list[LogFile],
    outlines: list[Outline],
    began: Start,
    in_commit: int | None,
    added: Mapping[int, AddedFiles],
) -> tuple[Commit, ...]:
    """The commits with their timestamps. From version `in_commit` on, they contain their own."""
    in_commits = [outline.in_commit_timestamp for outline in outlines]
    timestamps = commit_timestamps(files, in_commits, began.before, in_commit)
    return tuple(
        Commit(
            version=file.version,
            timestamp=timestamp,
            protocol=outline.protocol,
            metadata=outline.metadata,
            vectors=outline.vectors,
            incomplete=(
                frozenset()
                if file.version in added and added[file.version].complete
                else outline.incomplete
            ),
        )
        for file, outline, timestamp in zip(files, outlines, timestamps, strict=True)
    )
