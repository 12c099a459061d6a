"""The Delta log of one table: loads a version, and advances a snapshot by later commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, TypeVarTuple, Unpack

import anyio
import orjson

from sluicegate.api.budget import TableTooLarge
from sluicegate.api.errors import ObjectMissing, TableUnreadable
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.delta.compactions import read_delta, read_deltas
from sluicegate.tables.delta.log_files.actions import Actions
from sluicegate.tables.delta.log_files.checkpoint import CheckpointState, read_checkpoint
from sluicegate.tables.delta.log_files.commits import damaged
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.paths import storage_root
from sluicegate.tables.delta.log_files.segment import LogListing, LogSegment
from sluicegate.tables.delta.log_files.store import LogStore, cleaned_up_meanwhile
from sluicegate.tables.delta.protocol import check_readable, check_shareable, needed
from sluicegate.tables.delta.replay import apply, reconcile
from sluicegate.tables.delta.timestamps import (
    after,
    in_commit_since,
    in_commit_timestamp,
    modification_timestamps,
)
from sluicegate.tables.snapshot import (
    FileChunk,
    FileSet,
    Snapshot,
    TableMetadata,
    TableProtocol,
)

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")

_HINT_BYTES = 4 * 1024 * 1024  # it can contain the schema of a wide table's checkpoint
_MANY_FILES = 10_000  # log files; sorting more takes noticeable time
_NOTHING = CheckpointState(files=())


@dataclass(frozen=True, slots=True)
class DeltaState:
    """State for advancing a snapshot: the log file that represents its version."""

    newest: LogFile


class LogPosition(Protocol):
    """A version of a table whose files are known, such as a snapshot."""

    @property
    def version(self) -> int:
        """The version."""
        ...

    @property
    def timestamp(self) -> int:
        """When it was committed, epoch milliseconds."""
        ...

    @property
    def protocol(self) -> TableProtocol:
        """What its readers must support."""
        ...

    @property
    def metadata(self) -> TableMetadata:
        """Its schema and configuration."""
        ...

    @property
    def state(self) -> object:
        """A `DeltaState`, if it can be advanced."""
        ...


@dataclass(frozen=True, slots=True)
class LaterVersion:
    """A version of a table, without its files."""

    version: int
    timestamp: int
    protocol: TableProtocol
    metadata: TableMetadata
    state: DeltaState
    commits: Sequence[Actions]


class DeltaLog:
    """Reads the log of a table through its store."""

    def __init__(self, table: CatalogTable, directory: ObjectDirectory) -> None:
        self.store = LogStore(directory)
        self._table = table
        self.root = storage_root(table.location)

    async def listing(self, since: int | None = None) -> LogListing:
        """The log's files from a version on, as far as they count according to the catalog."""
        return await self._sorted(await self.store.files(since))

    async def checkpoint_hint(self) -> int | None:
        """The version in `_last_checkpoint`, which can be stale or wrong. `None` if there is none."""
        try:
            hint = await self.store.read_small("_last_checkpoint", _HINT_BYTES)
            return None if hint is None else max(0, int(orjson.loads(hint)["version"]))
        except (ObjectMissing, ValueError, KeyError, TypeError, OverflowError):
            return None

    async def commit(self, file: LogFile) -> Actions:
        """The actions of one commit; raises as `load` does."""
        with cleaned_up_meanwhile():
            return await read_delta(self.store, file, self.root)

    async def load(self, listing: LogListing, version: int) -> Snapshot:
        """Rebuild a version from its newest readable checkpoint, or from version 0."""
        failure: TableUnreadable | None = None
        segments = listing.segments(version)
        while segment := await _off_loop(listing.size, next, segments, None):
            try:
                base = await self._base(segment)
            except TableTooLarge:
                raise
            except TableUnreadable as error:
                failure = failure or error
            else:
                return await self._replay(listing, segment, base)
        raise failure or TableUnreadable(
            f"the Delta log lacks commit {listing.missing(version)}, without which "
            f"version {version} cannot be rebuilt"
        )

    async def advance(self, previous: Snapshot) -> Snapshot | None:
        """The newest snapshot: `previous` advanced by later commits, or itself if there are none.

        Returns:
            `None` if a full load is necessary or cheaper: the log was rewritten or cleaned up, or a
                checkpoint is smaller than the later commits.
        """
        if not isinstance(previous.state, DeltaState):
            return None
        if self._table.latest_version == previous.version:
            return previous  # the catalog decides: a listing of the store could not change the result
        listing = await self._continued(previous)
        if listing is None or listing.latest is None or listing.latest < previous.version:
            return None
        latest = listing.latest
        if latest == previous.version:
            return previous
        deltas = listing.cover(previous.version + 1, latest)
        if deltas is None or _checkpoint_is_smaller(listing, deltas, previous.version):
            return None
        segment = LogSegment(latest, None, deltas, listing.commits.get(latest, deltas[-1]))
        before = _timestamp_before(latest, listing, previous)
        try:
            later = await self._later(listing, segment, previous, before)
            return await _snapshot(later, previous.files)
        except TableTooLarge:
            raise
        except TableUnreadable:
            if all(file.kind == "commit" for file in deltas):
                raise
            return None  # an unusable compaction: a checkpoint can replace its commits

    async def later(self, position: LogPosition, version: int | None = None) -> LaterVersion | None:
        """What commits after a version change, even if a checkpoint is smaller than these commits.

        Returns:
            `None` if the log was rewritten or cleaned up since then, or has no such version.
        """
        if not isinstance(position.state, DeltaState):
            return None
        last = self._table.latest_version if version is None else version
        listing = None
        if last != position.version:
            listing = await self._continued(position)
            if listing is None:
                return None
            last = listing.latest if version is None else version
        if last is None or last < position.version:
            return None
        if listing is None or last == position.version:
            return LaterVersion(
                position.version,
                position.timestamp,
                position.protocol,
                position.metadata,
                position.state,
                (),
            )
        deltas = listing.cover(position.version + 1, last)
        if deltas is None:
            return None
        segment = LogSegment(last, None, deltas, listing.commits.get(last, deltas[-1]))
        before = _timestamp_before(last, listing, position)
        return await self._later(listing, segment, position, before)

    async def _continued(self, position: LogPosition) -> LogListing | None:
        """The log from a version on. `None` if the log file that represents it was replaced."""
        files = await self.store.files(position.version)
        listing = await self._sorted(files)
        newest = getattr(position.state, "newest", None)
        return None if self._table.latest_version is None and newest not in files else listing

    async def _sorted(self, files: Sequence[LogFile]) -> LogListing:
        return await _off_loop(len(files), LogListing.of, files, self._table)

    async def _base(self, segment: LogSegment) -> CheckpointState:
        if segment.checkpoint is None:
            return _NOTHING
        try:
            return await read_checkpoint(self.store, segment.checkpoint, self.root)
        except ObjectMissing as error:
            raise TableUnreadable(
                f"the Delta log's checkpoint of version {segment.checkpoint.version} is incomplete",
                detail=error.detail,
            ) from None

    async def _replay(
        self, listing: LogListing, segment: LogSegment, base: CheckpointState
    ) -> Snapshot:
        files = await anyio.to_thread.run_sync(_file_set, base.files)
        return await _snapshot(await self.after_checkpoint(listing, segment, base), files)

    async def after_checkpoint(
        self, listing: LogListing, segment: LogSegment, base: CheckpointState
    ) -> LaterVersion:
        """What the commits of a segment change after its checkpoint; raises as `load` does."""
        before = await _off_loop(listing.size, _timestamp_before, segment.version, listing)
        return await self._later(listing, segment, base, before)

    async def _later(
        self,
        listing: LogListing,
        segment: LogSegment,
        base: CheckpointState | LogPosition,
        before: int | None,
    ) -> LaterVersion:
        """Read a segment's commits. `before` is the timestamp of the previous version."""
        commits = await self._commits(listing, segment.deltas)
        protocols = [base.protocol, *(commit.protocol for commit in commits)]
        every_metadata = [base.metadata, *(commit.metadata for commit in commits)]
        protocol, metadata = needed(_newest(protocols), _newest(every_metadata), segment.since)
        check_readable(protocol, by_catalog=self._table.latest_version is not None)
        check_shareable(metadata)
        timestamp = await self._timestamp(segment, commits, metadata, before)
        return LaterVersion(
            segment.version, timestamp, protocol, metadata, DeltaState(segment.newest), commits
        )

    async def _commits(self, listing: LogListing, files: Sequence[LogFile]) -> list[Actions]:
        with cleaned_up_meanwhile():
            return await read_deltas(
                listing, files, lambda file: read_delta(self.store, file, self.root)
            )

    async def _timestamp(
        self,
        segment: LogSegment,
        commits: Sequence[Actions],
        metadata: TableMetadata,
        before: int | None,
    ) -> int:
        since = in_commit_since(metadata)
        if since is not None and segment.version >= since and segment.newest.kind == "commit":
            if commits and commits[-1].in_commit_timestamp is not None:
                return commits[-1].in_commit_timestamp
            return await in_commit_timestamp(self.store, segment.newest)
        return after(before, segment.newest.modified)


async def _snapshot(later: LaterVersion, files: FileSet) -> Snapshot:
    """The snapshot of a version, from the files before its commits."""
    if later.commits:
        files = await anyio.to_thread.run_sync(_applied, files, later.commits)
    return Snapshot(
        version=later.version,
        timestamp=later.timestamp,
        protocol=later.protocol,
        metadata=later.metadata,
        files=files,
        state=later.state,
    )


def _applied(files: FileSet, commits: Sequence[Actions]) -> FileSet:
    with damaged("the Delta log"):
        return apply(files, reconcile(commits))


async def _off_loop(
    size: int, function: Callable[[Unpack[_Arguments]], _T], *arguments: *_Arguments
) -> _T:
    """Call a function whose time grows with the log, in a thread if the log is long."""
    if size < _MANY_FILES:
        return function(*arguments)
    return await anyio.to_thread.run_sync(function, *arguments)


def _file_set(chunks: Sequence[FileChunk]) -> FileSet:
    """The chunks as one table in which each partition has a single dictionary entry."""
    files = FileSet.of(chunks)
    return replace(files, table=files.table.unify_dictionaries())


def _checkpoint_is_smaller(listing: LogListing, deltas: Sequence[LogFile], version: int) -> bool:
    newest = next(iter(listing.checkpoints), None)
    return (
        newest is not None
        and newest.version > version
        and sum(file.size for file in newest.files) < sum(file.size for file in deltas)
    )


def _timestamp_before(
    version: int, listing: LogListing, since: LogPosition | None = None
) -> int | None:
    """The timestamp of the previous version, if modification times determine it."""
    first, previous = (0, None) if since is None else (since.version + 1, since.timestamp)
    commits = (commit for number, commit in listing.commits.items() if first <= number < version)
    return modification_timestamps(commits, previous).get(version - 1, previous)


def _newest(values: Sequence[_T | None]) -> _T | None:
    return next((value for value in reversed(values) if value is not None), None)
