"""A version of a Delta table: its protocol and metadata, and which files of the log list its files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeVar

from sluicegate.api.budget import TableTooLarge
from sluicegate.api.errors import NotFound, ObjectMissing, TableUnreadable
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.delta.log_files.checkpoint import CheckpointState, read_checkpoint_head
from sluicegate.tables.delta.log_files.commits import read_actions
from sluicegate.tables.delta.log_files.names import LogFile, Sidecar
from sluicegate.tables.delta.log_files.paths import storage_root
from sluicegate.tables.delta.log_files.segment import LogListing, LogSegment
from sluicegate.tables.delta.log_files.store import cleaned_up_meanwhile
from sluicegate.tables.delta.protocol import check_readable, check_shareable, needed
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

_T = TypeVar("_T")

_PARALLEL = 16
_QUOTE = '"'
_NOTHING = CheckpointState(files=())


@dataclass(frozen=True, slots=True)
class LogPart:
    """A file of a Delta log that contains file actions. It can be sent to other machines.

    Attributes:
        name: Its name, relative to `_delta_log`.
        size: Its size in bytes.
        version: The last version whose actions it contains, or -1 for a part of a checkpoint.
        compacted: Whether it replaces several commits.
    """

    name: str
    size: int
    version: int
    compacted: bool = False


ReadSegment = Callable[[LogListing, LogSegment, CheckpointState, Sequence[LogPart]], Awaitable[_T]]
"""Reads a version: from a log, a segment, and the head and the parts of its checkpoint."""


@dataclass(frozen=True, slots=True)
class DeltaVersion:
    """A version of a Delta table, without its files.

    Attributes:
        protocol: What its readers must support.
        metadata: Its schema and configuration.
        parts: The files of the log to read for all files of the table.
        mark: Identifies the log file that represents the version. It differs after the file was
            replaced.
    """

    version: int
    protocol: TableProtocol
    metadata: TableMetadata
    parts: tuple[LogPart, ...]
    mark: str
    _log: DeltaLog = field(repr=False, compare=False)

    async def since(self, version: int, mark: str) -> tuple[LogPart, ...] | None:
        """Return the parts with what changed since an earlier version.

        Args:
            version: The earlier version.
            mark: Its `mark`.

        Returns:
            `None` if the log was replaced since then, or lacks some of these commits.

        Raises:
            StorageError: The store doesn't respond or denies access.
        """
        if version > self.version:
            return None
        listing = await self._log.listing(version)
        commit = listing.commits.get(version)
        if commit is None or _mark(commit) != mark:
            return None
        deltas = listing.cover(version + 1, self.version)
        return None if deltas is None else tuple(map(_part, _commits(listing, deltas)))


async def latest_delta_version(
    table: CatalogTable, directory: ObjectDirectory, without: Collection[str] = ()
) -> DeltaVersion:
    """Return the latest version of a table. Of the files in its log, none are kept in memory.

    Args:
        table: The table.
        directory: Its opened directory.
        without: Names of parts that turned out to be unreadable. Checkpoints with them are not used.

    Raises:
        NotFound: There is no table.
        TableUnreadable: The log is broken, or needs an unsupported feature.
        StorageError: The store doesn't respond or denies access.
    """
    reading = CheckpointReading(DeltaLog(table, directory), without)
    return await reading.latest(partial(_version, reading.log, table))


class CheckpointReading:
    """Reads what a log says apart from the files in its checkpoints.

    Args:
        log: The log.
        without: Names of parts that turned out to be unreadable. Checkpoints with them are not used.
    """

    def __init__(self, log: DeltaLog, without: Collection[str] = ()) -> None:
        self.log = log
        self._without = without

    async def latest(self, read: ReadSegment[_T]) -> _T:
        """Read the latest version, from its newest readable checkpoint, or from version 0.

        Args:
            read: Reads the commits after a checkpoint.

        Raises as `latest_delta_version` does.
        """
        hint = await self.log.checkpoint_hint()
        if hint is not None:
            listing = await self.log.listing(hint)
            try:
                if listing.latest is not None:
                    return await self._at(listing, listing.latest, read)
            except TableTooLarge:
                raise
            except TableUnreadable:
                pass  # an older checkpoint, or the commits from 0 on, might be sufficient
        listing = await self.log.listing()
        if listing.latest is None:
            raise NotFound("there is no Delta table: its location has no _delta_log with commits")
        return await self._at(listing, listing.latest, read)

    async def _at(self, listing: LogListing, version: int, read: ReadSegment[_T]) -> _T:
        failure: TableUnreadable | None = None
        for segment in listing.segments(version):
            try:
                head, parts = await self._checkpoint(segment)
                for part in parts:
                    if part.name in self._without:
                        raise TableUnreadable(f"the Delta log's {part.name} is damaged")
            except TableTooLarge:
                raise
            except TableUnreadable as error:
                failure = failure or error
            else:
                return await read(listing, segment, head, parts)
        raise failure or TableUnreadable(
            f"the Delta log lacks commit {listing.missing(version)}, without which "
            f"version {version} cannot be rebuilt"
        )

    async def _checkpoint(self, segment: LogSegment) -> tuple[CheckpointState, list[LogPart]]:
        if segment.checkpoint is None:
            return _NOTHING, []
        try:
            head = await read_checkpoint_head(self.log.store, segment.checkpoint, self.log.root)
            sizes = await gather([partial(self._size, each) for each in head.sidecars], _PARALLEL)
        except ObjectMissing as error:
            raise TableUnreadable(
                f"the Delta log's checkpoint of version {segment.checkpoint.version} is incomplete",
                detail=error.detail,
            ) from None
        parts = [LogPart(file.name, file.size, -1) for file in segment.checkpoint.files]
        return head, [*parts, *sizes]

    async def _size(self, sidecar: Sidecar) -> LogPart:
        return LogPart(sidecar.name, await self.log.store.size(sidecar.name), -1)


async def _version(
    log: DeltaLog,
    table: CatalogTable,
    listing: LogListing,
    segment: LogSegment,
    head: CheckpointState,
    parts: Sequence[LogPart],
) -> DeltaVersion:
    deltas, root = list(_commits(listing, segment.deltas)), storage_root(table.location)
    protocol, metadata = head.protocol, head.metadata
    with cleaned_up_meanwhile():
        for file in deltas:
            actions = await read_actions(log.store, file, root, files=False)
            protocol, metadata = actions.protocol or protocol, actions.metadata or metadata
    protocol, metadata = needed(protocol, metadata, segment.since)
    check_readable(protocol, by_catalog=table.latest_version is not None)
    check_shareable(metadata)
    all_parts = (*parts, *map(_part, deltas))
    return DeltaVersion(segment.version, protocol, metadata, all_parts, _mark(segment.newest), log)


def _commits(listing: LogListing, deltas: Iterable[LogFile]) -> Iterable[LogFile]:
    """Replace compactions by their commits, which can always be used, as far as these exist."""
    return chain.from_iterable(
        (listing.commits_of(file) if file.kind == "compaction" else None) or (file,) for file in deltas
    )


def _part(file: LogFile) -> LogPart:
    return LogPart(file.name, file.size, file.last, file.kind == "compaction")


def _mark(file: LogFile) -> str:
    identity = file.e_tag or str(file.modified)
    return f"{file.name} {file.size} {identity.strip(_QUOTE)}"
