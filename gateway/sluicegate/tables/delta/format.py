"""The Delta table format: snapshots from the log, read by the gateway itself."""

from __future__ import annotations

from sluicegate.api import CatalogTable, InvalidRequest, NotFound, ObjectDirectory, TableFormat
from sluicegate.budget import TableTooLarge
from sluicegate.errors import TableUnreadable
from sluicegate.tables.changes import Changes, Commit
from sluicegate.tables.delta.history import History, HistoryCache, Outline, Start
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.delta.names import LogFile
from sluicegate.tables.delta.protocol import check_readable
from sluicegate.tables.delta.segment import LogListing
from sluicegate.tables.delta.timestamps import Timeline, in_commit_since, modification_timestamps
from sluicegate.tables.snapshot import Snapshot
from sluicegate.telemetry import span

COMMITS_BYTES = 64_000_000


class DeltaFormat(TableFormat):
    """Reads Delta tables up to reader version 3, catalog-managed ones included (Delta protocol).

    Args:
        commits_bytes: Memory for commits that streams and change feeds were made of.
    """

    def __init__(self, commits_bytes: int = COMMITS_BYTES) -> None:
        self._commits = HistoryCache(commits_bytes)

    async def latest(
        self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
    ) -> Snapshot:
        """See `TableFormat.latest`: an unchanged table costs one listing from its newest commit on."""
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
                    f"version {version} of the table does not exist or cannot be rebuilt any more: "
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
            first, last = _committed(listing)
            if earliest_after:
                return await timeline.earliest_from(timestamp, first, last)
            rebuildable, _ = _range(listing)
            return await timeline.latest_until(timestamp, max(first, rebuildable), last)

    async def changes(
        self,
        table: CatalogTable,
        directory: ObjectDirectory,
        latest: Snapshot,
        start: int,
        end: int,
    ) -> Changes:
        """See `TableFormat.changes`: one listing, and no other request when asked again."""
        with span("changes", start=start, end=end):
            log = DeltaLog(table, directory)
            history = History(log.store, table, self._commits)
            commits = _unbroken(await log.listing(start), start, end)
            began = history.known_start(commits[0])
            if began is None:
                began = await history.start(await log.listing(), commits[0])
            if began is None:
                raise InvalidRequest(
                    f"version {start} of the table cannot be rebuilt any more, so changes cannot be "
                    "told from it on"
                )
            outlines = await history.outlines(commits)
            files = {file.version: file for file in commits}
            changes = Changes(
                start=began.state,
                commits=_commits(commits, outlines, began, in_commit_since(latest.metadata)),
                read=lambda wanted: history.files([files[commit.version] for commit in wanted]),
            )
            for state in changes.states():
                check_readable(state.protocol, by_catalog=table.latest_version is not None)
            return changes


async def _load_latest(log: DeltaLog) -> Snapshot:
    """Load from the checkpoint that `_last_checkpoint` hints at, or from a listing of everything."""
    hint = await log.checkpoint_hint()
    if hint is not None:
        listing = await log.listing(hint)
        if listing.latest is not None:
            try:
                return await log.load(listing, listing.latest)
            except TableTooLarge:
                raise
            except TableUnreadable:
                pass  # an older checkpoint, or the commits from 0 on, may do
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


def _committed(listing: LogListing) -> tuple[int, int]:
    """The first and the last of the newest commits that follow each other without a gap."""
    _, last = _range(listing)
    first = last
    while first - 1 in listing.commits:
        first -= 1
    return first, last


def _unbroken(listing: LogListing, start: int, end: int) -> list[LogFile]:
    """The commits of a run of versions."""
    first = end + 1
    while first > start and first - 1 in listing.commits:
        first -= 1
    if first > end:
        raise InvalidRequest(f"the table's log lacks commit {end}, so its changes cannot be told")
    if first > start:
        raise InvalidRequest(
            f"the changes of version {first - 1} cannot be told any more, as the table's log was "
            f"cleaned up: version {first} is the earliest to start from"
        )
    return [listing.commits[version] for version in range(start, end + 1)]


def _commits(
    files: list[LogFile], outlines: list[Outline], began: Start, in_commit: int | None
) -> tuple[Commit, ...]:
    """The commits with their timestamps; from version `in_commit` on they hold their own."""
    timestamps = modification_timestamps(files, began.before)
    return tuple(
        Commit(
            version=file.version,
            timestamp=(
                outline.in_commit_timestamp or file.modified
                if in_commit is not None and file.version >= in_commit
                else timestamps[file.version]
            ),
            protocol=outline.protocol,
            metadata=outline.metadata,
            vectors=outline.vectors,
        )
        for file, outline in zip(files, outlines, strict=True)
    )
