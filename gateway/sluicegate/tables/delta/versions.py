"""Lists versions of a Delta table with their metadata, without their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluicegate.api import CatalogTable
from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.changes import TableState
from sluicegate.tables.delta.history import History, Outline
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.segment import LogListing
from sluicegate.tables.delta.protocol import check_readable, check_shareable
from sluicegate.tables.delta.timestamps import commit_timestamps, in_commit_since
from sluicegate.tables.features import VECTORS, declared_features
from sluicegate.tables.snapshot import Snapshot
from sluicegate.tables.versions import DescribedVersion

_MAX_BYTES = 64_000_000
"""The commits that are read. Metadata can be anywhere in a commit, so all of it is read."""


async def earlier_versions(
    table: CatalogTable, log: DeltaLog, history: History, latest: Snapshot, start: int, limit: int
) -> Sequence[DescribedVersion]:
    """See `TableFormat.earlier_versions`. Versions that the gateway cannot read are left out."""
    if latest.version <= start:
        return ()
    listing = await log.listing()
    commits = _newest(listing, max(start, latest.version - limit), latest.version - 1)
    began = None
    if commits:
        began = history.known_start(commits[0]) or await history.start(listing, commits[0])
    if began is None:
        return ()
    outlines = await history.outlines(commits)
    in_commits = [outline.in_commit_timestamp for outline in outlines]
    timestamps = commit_timestamps(commits, in_commits, began.before, in_commit_since(latest.metadata))
    by_catalog = table.latest_version is not None
    states = _states(began.state, commits, outlines, likely=latest.files.deletion_vectors)
    return [
        DescribedVersion(
            commit.version, timestamp, state.table.protocol, state.table.metadata, state.vectors
        )
        for commit, timestamp, state in zip(commits, timestamps, states, strict=True)
        if state.readable(by_catalog=by_catalog)
    ]


def _newest(listing: LogListing, first: int, last: int) -> list[LogFile]:
    """The last commits up to `last`, not before `first`, without a gap and within the size limit."""
    commits: list[LogFile] = []
    size = 0
    lowest = max(first, listing.unbroken(last))
    for version in range(last, lowest - 1, -1):
        commit = listing.commits.get(version)
        if commit is None or (size := size + commit.size) > _MAX_BYTES:
            break
        commits.append(commit)
    return commits[::-1]


@dataclass(frozen=True, slots=True)
class _State:
    table: TableState
    vectors: bool

    def readable(self, *, by_catalog: bool) -> bool:
        try:
            check_readable(self.table.protocol, by_catalog=by_catalog)
            check_shareable(self.table.metadata)
        except TableUnreadable:
            return False
        return True


def _states(
    began: TableState, commits: Sequence[LogFile], outlines: Sequence[Outline], *, likely: bool
) -> Iterator[_State]:
    """The state at each commit. Files that the log does not show might have deletion vectors."""
    state, unknown, found = began, commits[0].version > 0, False
    for commit, outline in zip(commits, outlines, strict=True):
        protocol, metadata = outline.protocol or state.protocol, outline.metadata or state.metadata
        if commit.version > began.version:
            state = TableState(commit.version, protocol, metadata)
        found = found or "data" in outline.vectors
        yield _State(
            state, found or (unknown and (likely or VECTORS in declared_features(state.protocol)))
        )
