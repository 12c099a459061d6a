"""The files of a response, in batches, up to the end of its page or its `limitHint`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.protocols.delta_sharing.query.file_pages import page
from sluicegate.protocols.delta_sharing.query.prune import BATCH_ROWS, FIRST_BATCH_ROWS, RowLimit
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.protocols.presigning.issued_urls import Offered
from sluicegate.tables.snapshot import FileBlock, FileSet

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.selection import SelectedFiles


@dataclass(frozen=True, slots=True)
class FileSelection:
    """The files to return.

    Attributes:
        batches: The files, in batches. Rows of `FILE_SCHEMA`, or blocks that are not unpacked.
        limit: Counts the rows of the batches that were taken.
        last_path: Set if there are more files after this page.
        source: What the batches are taken from.
    """

    batches: Iterator[pa.Table | FileBlock]
    limit: RowLimit
    last_path: str | None = None
    source: FileSet | SelectedFiles | pa.Table | None = None

    async def next_batch(
        self, index_threads: anyio.CapacityLimiter | None = None
    ) -> pa.Table | FileBlock | None:
        """The next batch, or `None`. Batches of an index are read in a thread.

        Args:
            index_threads: Limits these threads.

        Raises:
            IndexUnusable: A part of the index is missing or damaged.
        """
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
