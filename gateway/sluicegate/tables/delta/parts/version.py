"""A version of a Delta table: its protocol and metadata, and which files of the log list its files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeVar

from sluicegate.api.budget import TableTooLarge
from sluicegate.api.errors import NotFound, ObjectMissing, TableUnreadable
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.delta.log import DeltaLog
from sluicegate.tables.delta.log_files.actions import Actions
from sluicegate.tables.delta.log_files.checkpoint import CheckpointState, read_checkpoint_head
from sluicegate.tables.delta.log_files.commits import read_actions
from sluicegate.tables.delta.log_files.names import LogFile, Sidecar
from sluicegate.tables.delta.log_files.paths import storage_root
from sluicegate.tables.delta.log_files.segment import LogListing, LogSegment
from sluicegate.tables.delta.log_files.store import cleaned_up_meanwhile
from sluicegate.tables.delta.protocol import check_readable, check_shareable
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
    log = DeltaLog(table, directory)
    hint = await log.checkpoint_hint()
    if hint is not None:
        listing = await log.listing(hint)
        try:
            if listing.latest is not None:
                return await _Reading(log, table, listing, without).latest(listing.latest)
        except TableTooLarge:
            raise
        except TableUnreadable:
            pass  # an older checkpoint, or the commits from 0 on, might be sufficient
    listing = await log.listing()
    if listing.latest is None:
        raise NotFound("there is no Delta table: its location has no _delta_log with commits")
    return await _Reading(log, table, listing, without).latest(listing.latest)


class _Reading:
    """Reads what a log says apart from file actions."""

    def __init__(
        self, log: DeltaLog, table: CatalogTable, listing: LogListing, without: Collection[str]
    ) -> None:
        self._log = log
        self._store = log.store
        self._table = table
        self._listing = listing
        self._without = without
        self._root = storage_root(table.location)

    async def latest(self, version: int) -> DeltaVersion:
        """Return a version, from its newest readable checkpoint, or from version 0."""
        failure: TableUnreadable | None = None
        for segment in self._listing.segments(version):
            try:
                head, parts = await self._checkpoint(segment)
                for part in parts:
                    if part.name in self._without:
                        raise TableUnreadable(f"the Delta log's {part.name} is damaged")
                return await self._version(segment, head, parts)
            except TableTooLarge:
                raise
            except TableUnreadable as error:
                failure = failure or error
        raise failure or TableUnreadable(
            f"the Delta log lacks commit {self._listing.missing(version)}, without which "
            f"version {version} cannot be rebuilt"
        )

    async def _checkpoint(self, segment: LogSegment) -> tuple[CheckpointState, list[LogPart]]:
        if segment.checkpoint is None:
            return _NOTHING, []
        try:
            head = await read_checkpoint_head(self._store, segment.checkpoint, self._root)
            sizes = await gather([partial(self._size, each) for each in head.sidecars], _PARALLEL)
        except ObjectMissing as error:
            raise TableUnreadable(
                f"the Delta log's checkpoint of version {segment.checkpoint.version} is incomplete",
                detail=error.detail,
            ) from None
        parts = [LogPart(file.name, file.size, -1) for file in segment.checkpoint.files]
        return head, [*parts, *sizes]

    async def _size(self, sidecar: Sidecar) -> LogPart:
        return LogPart(sidecar.name, await self._store.size(sidecar.name), -1)

    async def _version(
        self, segment: LogSegment, head: CheckpointState, parts: Sequence[LogPart]
    ) -> DeltaVersion:
        deltas = list(_commits(self._listing, segment.deltas))
        protocol, metadata = head.protocol, head.metadata
        with cleaned_up_meanwhile():
            for file in deltas:
                actions = await self._head(file)
                protocol, metadata = actions.protocol or protocol, actions.metadata or metadata
        protocol, metadata = _present(protocol, "protocol"), _present(metadata, "metadata")
        check_readable(protocol, by_catalog=self._table.latest_version is not None)
        check_shareable(metadata)
        return DeltaVersion(
            segment.version,
            protocol,
            metadata,
            (*parts, *map(_part, deltas)),
            _mark(segment.newest),
            self._log,
        )

    async def _head(self, file: LogFile) -> Actions:
        return await read_actions(self._store, file, self._root, files=False)


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


def _present(value: _T | None, what: str) -> _T:
    if value is None:
        raise TableUnreadable(
            f"the Delta log has no {what} action: the table was not written completely"
        )
    return value
