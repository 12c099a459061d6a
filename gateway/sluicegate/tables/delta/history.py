"""The commits of tables, read one by one and cached, for streams and change feeds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial

import anyio
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.lru import LRU
from sluicegate.api.budget import TableTooLarge
from sluicegate.api.errors import ObjectMissing, TableUnreadable, Unavailable
from sluicegate.api.models import CatalogTable
from sluicegate.tables.changes import CHANGE_SCHEMA, CommitFiles, TableState, What
from sluicegate.tables.delta.compactions import read_delta, read_deltas
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.delta.log_files.actions import Actions, check_sizes, one_batch
from sluicegate.tables.delta.log_files.added_files import AddedFiles, removed_without_values
from sluicegate.tables.delta.log_files.checkpoint import read_checkpoint_head
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.paths import check_servable, storage_root
from sluicegate.tables.delta.log_files.segment import LogListing, LogSegment
from sluicegate.tables.delta.log_files.store import LogStore
from sluicegate.tables.delta.protocol import needed
from sluicegate.tables.delta.timestamps import modification_timestamps
from sluicegate.tables.snapshot import FILE_SCHEMA, TableMetadata, TableProtocol

_KINDS = pa.array(["add", "remove", "cdc"])
_ADD, _REMOVE, _CDC = range(len(_KINDS))


def commit_files(actions: Actions, source: str) -> CommitFiles:
    """The files that a commit changed.

    If a commit has `cdc` files, the feed consists of only these. A merge that reports that it changed
    no row has an empty feed, because it wrote no `cdc` files either (the reference server's rule).
    """
    _check(actions, source)
    added, removed = _that_change(actions.adds), _that_change(actions.removes)
    data = _in_order(_joined([_changes(added, _ADD), _changes(removed, _REMOVE)]))
    if actions.cdc.num_rows:
        return CommitFiles(data, _changes(actions.cdc, _CDC).select(CHANGE_SCHEMA.names))
    return CommitFiles(data, data.slice(0, 0) if actions.no_op else data)


def _check(actions: Actions, source: str) -> None:
    for batch, what in ((actions.adds, "adds"), (actions.removes, "removes"), (actions.cdc, "adds")):
        sized = batch is actions.removes or not batch.column("size").null_count
        if batch.column("path").null_count or not sized:
            raise TableUnreadable(f"{source} {what} a file without a path or a size")
        check_sizes(batch.column("size"), source)
        check_servable(batch.column("path"), source)


def _that_change(actions: pa.RecordBatch) -> pa.RecordBatch:
    if not actions.num_rows or pc.all(actions.column("data_change")).as_py():
        return actions
    return actions.filter(actions.column("data_change"))


def _changes(actions: pa.RecordBatch, kind: int) -> pa.RecordBatch:
    """The actions with their kind, and with their line in the commit."""
    if not actions.num_rows:
        return _nothing()
    kinds = pa.repeat(pa.scalar(kind, pa.int8()), actions.num_rows)
    columns = [actions.column(name) for name in FILE_SCHEMA.names]
    columns.append(pa.DictionaryArray.from_arrays(kinds, _KINDS))
    return pa.RecordBatch.from_arrays([*columns, actions.column("line")], schema=_with_lines())


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    filled = [batch for batch in batches if batch.num_rows]
    if len(filled) < 2:
        return filled[0] if filled else _nothing()
    return one_batch(pa.Table.from_batches(filled))


def _in_order(changes: pa.RecordBatch) -> pa.RecordBatch:
    """Sorted by line, but actions on one path are grouped, so that readers get all of them together.

    A deletion vector is replaced through a remove and an add of the same path; a reader pairs them.
    """
    paths, lines = changes.column("path").to_pylist(), changes.column("line").to_pylist()
    first: dict[str, int] = {}
    for line, path in sorted(zip(lines, paths, strict=True)):
        first.setdefault(path, line)
    keys = [(first[path], line) for path, line in zip(paths, lines, strict=True)]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    changes = changes.select(CHANGE_SCHEMA.names)
    return changes if order == list(range(len(order))) else changes.take(pa.array(order))


@cache
def _with_lines() -> pa.Schema:
    return CHANGE_SCHEMA.append(pa.field("line", pa.int64(), nullable=False))


@cache
def _nothing() -> pa.RecordBatch:
    """A shared empty batch, because most commits lack most kinds of actions."""
    schema = _with_lines()
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


_PARALLEL = 16
_INLINE_ROWS = 2048
_FILES_BYTES = 4096  # memory of the objects around a commit's columns
_OUTLINE_BYTES = 512
_START_ENTRIES = 4096


@dataclass(frozen=True, slots=True)
class Outline:
    """The content of a log file apart from its file actions; `vectors` as in `Commit`."""

    protocol: TableProtocol | None
    metadata: TableMetadata | None
    in_commit_timestamp: int | None
    vectors: frozenset[What] = frozenset()
    incomplete: frozenset[What] = frozenset()


@dataclass(frozen=True, slots=True)
class Start:
    """A version where changes start."""

    state: TableState
    before: int | None


class HistoryCache:
    """Caches parsed commits. Log files never change, so entries never become stale."""

    def __init__(self, max_bytes: int) -> None:
        self.files: LRU[Hashable, CommitFiles] = LRU(max_bytes, lambda f: f.nbytes + _FILES_BYTES)
        self.outlines: LRU[Hashable, Outline] = LRU(max_bytes // 8, _outline_bytes)
        self.added: LRU[Hashable, AddedFiles] = LRU(max_bytes // 8, lambda f: f.nbytes + _FILES_BYTES)
        self.starts: LRU[Hashable, Start] = LRU(_START_ENTRIES)


class History:
    """Reads the commits of one table through the cache."""

    def __init__(self, store: LogStore, table: CatalogTable, cache: HistoryCache) -> None:
        self._store = store
        self._table = table
        self._root = storage_root(table.location)
        self._cache = cache

    async def outlines(self, files: Sequence[LogFile]) -> list[Outline]:
        """The content of log files apart from their file actions, in the order of `files`."""
        known = {file.name: self._cache.outlines.get(self._key(file)) for file in files}
        unknown = [file for file in files if known[file.name] is None]
        read = await gather([partial(self._outline, file) for file in unknown], _PARALLEL)
        fresh = {file.name: outline for file, outline in zip(unknown, read, strict=True)}
        return [fresh[file.name] if (old := known[file.name]) is None else old for file in files]

    async def files(self, commits: Sequence[LogFile]) -> list[CommitFiles]:
        """The changes of commits, in the order of `commits`; raises as `outlines` does.

        Each call has a separate budget, because clients decide how many calls there are and how long
        they take.
        """
        store = self._store.renewed()
        with closing(store.budget):
            return await History(store, self._table, self._cache)._files(commits)

    async def _files(self, commits: Sequence[LogFile]) -> list[CommitFiles]:
        known = [self._cache.files.get(self._key(file)) for file in commits]
        jobs = [
            partial(self._load, file) for file, old in zip(commits, known, strict=True) if old is None
        ]
        fresh = iter(await gather(jobs, _PARALLEL))
        return [next(fresh)[1] if old is None else old for old in known]

    def known_added(self, commit: LogFile) -> AddedFiles | None:
        """Cached information about the files that a commit removes, if it was looked up before."""
        return self._cache.added.get(self._key(commit))

    def keep_added(self, commit: LogFile, added: AddedFiles) -> None:
        """Cache information about the files that a commit removes."""
        self._cache.added.put(self._key(commit), added)

    def known_start(self, commit: LogFile) -> Start | None:
        """The cached start of changes at a commit, if it was read before."""
        return self._cache.starts.get(self._key(commit))

    async def start(self, listing: LogListing, commit: LogFile) -> Start | None:
        """Protocol and metadata at a commit, read without its table's files.

        Returns:
            `None` if neither a checkpoint nor version 0 is available to start from.
        """
        failure: TableUnreadable | None = None
        for segment in listing.segments(commit.version):
            try:
                head = await self._checkpoint_head(segment)
            except TableTooLarge:
                raise
            except TableUnreadable as error:
                failure = failure or error
            else:
                state = await self._state(listing, segment, *head)
                earlier = [file for file in listing.commits.values() if file.version < commit.version]
                before = modification_timestamps(earlier).get(commit.version - 1)
                start = Start(state, before)
                self._cache.starts.put(self._key(commit), start)
                return start
        if failure is not None:
            raise failure
        return None

    async def _state(
        self,
        listing: LogListing,
        segment: LogSegment,
        protocol: TableProtocol | None,
        metadata: TableMetadata | None,
    ) -> TableState:
        for outline in await read_deltas(listing, segment.deltas, self._known_outline):
            protocol, metadata = outline.protocol or protocol, outline.metadata or metadata
        return TableState(segment.version, *needed(protocol, metadata, segment.since))

    async def _checkpoint_head(
        self, segment: LogSegment
    ) -> tuple[TableProtocol | None, TableMetadata | None]:
        if segment.checkpoint is None:
            return None, None
        try:
            head = await read_checkpoint_head(self._store, segment.checkpoint, self._root)
        except ObjectMissing as error:
            raise TableUnreadable(
                f"the Delta log's checkpoint of version {segment.checkpoint.version} is incomplete",
                detail=error.detail,
            ) from None
        return head.protocol, head.metadata

    async def _known_outline(self, file: LogFile) -> Outline:
        return self._cache.outlines.get(self._key(file)) or await self._outline(file)

    async def _outline(self, file: LogFile) -> Outline:
        return (await self._load(file))[0]

    async def _load(self, file: LogFile) -> tuple[Outline, CommitFiles]:
        try:
            actions = await read_delta(self._store, file, self._root)
        except ObjectMissing as error:
            raise Unavailable(
                "the table's log changed while it was read; try again", detail=error.detail
            ) from None
        source = f"the Delta log's {file.name}"
        if actions.adds.num_rows + actions.removes.num_rows + actions.cdc.num_rows <= _INLINE_ROWS:
            files = commit_files(actions, source)
        else:
            files = await anyio.to_thread.run_sync(commit_files, actions, source)
        outline = _outline_of(actions, files)
        self._cache.outlines.put(self._key(file), outline)
        if file.kind == "commit":
            self._cache.files.put(self._key(file), files)
        return outline, files

    def _key(self, file: LogFile) -> Hashable:
        return (self._table.id, self._table.location, file)


def _outline_of(actions: Actions, files: CommitFiles) -> Outline:
    whats: tuple[What, ...] = ("data", "feed")
    return Outline(
        actions.protocol,
        actions.metadata,
        actions.in_commit_timestamp,
        vectors=frozenset(what for what in whats if _has_vectors(files, what)),
        incomplete=frozenset(what for what in whats if len(removed_without_values(files.of(what)))),
    )


def _has_vectors(files: CommitFiles, what: What) -> bool:
    column = files.of(what).column("deletion_vector")
    return bool(column.null_count < len(column))


def _outline_bytes(outline: Outline) -> int:
    return _OUTLINE_BYTES + (len(outline.metadata.schema_string) if outline.metadata else 0)
