"""Selects the files of a query: pruned by its predicate, page by page, until the row limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.protocols.columns import texts
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.protocols.presigning.signer import Offered
from sluicegate.tables.packed import BLOCK_ROWS
from sluicegate.tables.predicates import from_hints, prune
from sluicegate.tables.snapshot import FILE_SCHEMA, FileBlock, FileSet, TableMetadata

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.files import IndexedFiles
    from sluicegate.tables.snapshot_index.selection import SelectedFiles

FIRST_BATCH_ROWS = 64
# Larger batches outgrow the CPU cache, and their buffers the heap: each would need new pages.
BATCH_ROWS = 256


async def pruned(
    files: FileSet | IndexedFiles,
    metadata: TableMetadata,
    request: QueryRequest,
    start: Continuation,
    index_threads: anyio.CapacityLimiter | None = None,
) -> FileSet | SelectedFiles:
    """The files that can contain rows that match the request's predicate hints.

    Runs in a thread: a hint can be long, and the first request for a column parses its statistics,
    which would block the event loop.
    """
    if not isinstance(files, FileSet):
        in_pages = request.max_files is not None or start.after is not None
        select = partial(_selected, files, metadata, request, in_memory=in_pages)
        return await anyio.to_thread.run_sync(select, limiter=index_threads)
    if request.json_hints is None and not request.sql_hints:
        return files
    return await anyio.to_thread.run_sync(_prune, files, metadata, request)


def _prune(files: FileSet, metadata: TableMetadata, request: QueryRequest) -> FileSet:
    predicate = from_hints(request.json_hints, request.sql_hints)
    return files if predicate is None else prune(files, metadata, predicate)


def _selected(
    files: IndexedFiles, metadata: TableMetadata, request: QueryRequest, *, in_memory: bool
) -> FileSet | SelectedFiles:
    from sluicegate.tables.snapshot_index.selection import load_files, select_files

    predicate = from_hints(request.json_hints, request.sql_hints)
    if in_memory:  # an index is not ordered by path, as pages are
        return load_files(files, metadata, predicate)
    return select_files(files, metadata, predicate)


class RowLimit:
    """Counts down a `limitHint`, and cuts off files that are no longer needed.

    Files without row counts and deleted rows are not counted.

    Attributes:
        left: Rows that are still wanted. `None` without a limit.
    """

    def __init__(self, left: int | None) -> None:
        self.left = left

    @property
    def reached(self) -> bool:
        """Whether no more files are needed."""
        return self.left is not None and self.left <= 0

    def cut(self, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The batches up to the file that certainly reaches the limit."""
        for batch in batches:
            if self.reached:
                return
            yield batch if self.left is None else batch.slice(0, self._take(batch))

    def _take(self, batch: pa.Table) -> int:
        """How many of the batch's files are needed."""
        left = self.left or 0
        deleted = pc.struct_field(batch.column("deletion_vector"), "cardinality").to_pylist()
        for taken, stats in enumerate(texts(batch.column("stats"))):
            if left <= 0:
                self.left = left
                return taken
            left -= max(_records(stats) - (deleted[taken] or 0), 0)
        self.left = left
        return int(batch.num_rows)


def _records(stats: str | None) -> int:
    try:
        value = orjson.loads(stats or "{}").get("numRecords")
    except (orjson.JSONDecodeError, AttributeError):
        return 0
    return value if isinstance(value, int) else 0


def page(files: FileSet, after: str | None, size: int) -> tuple[pa.Table, bool]:
    """The files whose paths come next.

    The order of a snapshot in memory depends on how it was loaded and advanced. The order of paths does
    not.

    Returns:
        Rows of `FILE_SCHEMA`, sorted by path, and whether more files follow.
    """
    rows = _candidates(files, after)
    if not len(rows):  # on empty input, Arrow's compute functions crash the process
        return FILE_SCHEMA.empty_table(), False
    candidates = pa.table({"path": files.table.column("path").take(rows), "row": rows})
    chosen = pc.select_k_unstable(candidates, size + 1, sort_keys=[("path", "ascending")])
    picked = candidates.column("row").take(chosen)
    return _sorted(files, picked.slice(0, size)), len(picked) > size


def _sorted(files: FileSet, rows: pa.Array) -> pa.Table:
    """Some rows, unpacked, ordered by path."""
    mask = pc.is_in(_every_row(files), value_set=rows)
    return pa.concat_tables(files.where(mask).batches(BLOCK_ROWS)).sort_by("path")


def _candidates(files: FileSet, after: str | None) -> pa.Array:
    """Rows of the files after a path."""
    paths, wanted = files.table.column("path"), files.live
    if after is not None and len(paths):
        behind = pc.greater(paths, after)
        wanted = behind if wanted is None else pc.and_(behind, wanted)
    return _every_row(files) if wanted is None else pc.indices_nonzero(wanted)


def _every_row(files: FileSet) -> pa.Array:
    return pc.indices_nonzero(pa.repeat(True, files.table.num_rows))


@dataclass(frozen=True, slots=True)
class FileSelection:
    """The files to return."""

    batches: Iterator[pa.Table | FileBlock]
    limit: RowLimit
    last_path: str | None = None
    source: FileSet | SelectedFiles | pa.Table | None = None

    async def next_batch(
        self, index_threads: anyio.CapacityLimiter | None = None
    ) -> pa.Table | FileBlock | None:
        """The next batch, or `None`. Batches of an index are read in a thread."""
        if self.source is None or isinstance(self.source, FileSet | pa.Table):
            return next(self.batches, None)
        return await anyio.to_thread.run_sync(next, self.batches, None, limiter=index_threads)

    def total(self) -> Offered | None:
        """All files of the batches. `None` if a `limitHint` decides how many there are."""
        if self.limit.left is not None or self.source is None:
            return None
        if isinstance(self.source, pa.Table):
            return Offered(self.source.num_rows, pc.sum(self.source.column("size")).as_py() or 0)
        return Offered(len(self.source), self.source.size)

    def next_page(self, version: int) -> Continuation | None:
        """Where the next page starts, if there is one. Call this after the last batch was taken."""
        if self.last_path is None or self.limit.reached:
            return None
        return Continuation(version, self.last_path, self.limit.left)


def select(files: FileSet | SelectedFiles, request: QueryRequest, start: Continuation) -> FileSelection:
    """The files that a request returns, if it starts at a position. Pages are of a `FileSet`."""
    limit = RowLimit(request.limit if start.rows_left is None else start.rows_left)
    whole = request.max_files is None and start.after is None
    if isinstance(files, FileSet) and whole and limit.left is None:
        return FileSelection(files.blocks(BATCH_ROWS, first=FIRST_BATCH_ROWS), limit, source=files)
    if not isinstance(files, FileSet) or whole:
        batches = files.batches(BATCH_ROWS, first=FIRST_BATCH_ROWS)
        return FileSelection(limit.cut(batches), limit, source=files)
    rows, more = page(files, start.after, request.max_files or len(files))
    last_path = rows.column("path")[-1].as_py() if more else None
    batches = (rows.slice(start, BATCH_ROWS) for start in range(0, rows.num_rows, BATCH_ROWS))
    return FileSelection(limit.cut(batches), limit, last_path, rows)
