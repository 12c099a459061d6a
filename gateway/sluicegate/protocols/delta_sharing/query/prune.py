"""The pruning step: which of the files that a recipient can see a request needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.tables.predicates import from_hints, prune
from sluicegate.tables.snapshot import FileSet, TableMetadata

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

    Args:
        files: The files that the recipient can see.
        metadata: The metadata of their version.
        request: The hints.
        start: Where the response starts.
        index_threads: Limits the threads that read indexes, and so their memory.

    Raises:
        IndexUnusable: The request must be answered from the table's log.
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
