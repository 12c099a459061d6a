"""The files of which a plan selects some: in memory, or in an index of which it reads a part."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.partitions import PartitionValues, partition_texts
from sluicegate.tables.predicates import Predicate, prune
from sluicegate.tables.snapshot import CHUNK_ROWS, FileChunk, FileSet, TableMetadata

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.files import IndexedFiles

# Tasks of one response. For each page, all paths are compared again, which is a third of its CPU time
# with a million files. A client parses an entire response at once, which takes memory.
PAGE_FILES = 10_000
_PAGE_BYTES = 16 << 20
_TASK_BYTES = 400  # without the residual


@dataclass(frozen=True, slots=True)
class PlanPage:
    """A range of paths.

    Attributes:
        after: The path before the first one. `None` for the beginning.
        until: The last path. `None` for the end.
    """

    after: str | None = None
    until: str | None = None


EVERYTHING = PlanPage()
"""The range of all paths."""


def page_size(residual: int) -> int:
    """The number of files on a page, if the longest residual has so many bytes."""
    return max(1, min(PAGE_FILES, _PAGE_BYTES // (_TASK_BYTES + residual)))


def on_page(files: FileSet, page: PlanPage) -> FileSet:
    """The files on a page."""
    for bound, compare in ((page.after, pc.greater), (page.until, pc.less_equal)):
        if bound is not None and files.table.num_rows:
            mask = compare(files.table.column("path"), bound)
            files = files.where(mask.combine_chunks())
    return files


def pages(files: FileSet, page: PlanPage, size: int) -> list[PlanPage]:
    """The pages of at most `size` files into which a range is split.

    At least one, which can be empty.
    """
    if len(files) <= size:
        return [page]
    paths = files.table.column("path")
    live = paths if files.live is None else pc.filter(paths, files.live)
    ordered = pc.sort_indices(live)
    ends = live.take(ordered.take(pa.array(range(size - 1, len(live) - 1, size)))).to_pylist()
    starts = [page.after, *ends]
    return [PlanPage(*bounds) for bounds in zip(starts, [*ends, page.until], strict=True)]


class PlanCandidates(Protocol):
    """Files that a recipient can see. All methods block."""

    def partitions(self) -> set[str]:
        """The texts of the partitions to decide. Those of all selected files are among them."""

    def selected(self, partitions: Collection[str] | None, predicate: Predicate | None) -> FileSet:
        """The files on the page that can contain a row for which a predicate is true."""


@dataclass(frozen=True, slots=True)
class LoadedCandidates:
    """Candidates in memory."""

    files: FileSet
    metadata: TableMetadata

    def partitions(self) -> set[str]:
        """The partitions of the page."""
        return partition_texts(self.files)

    def selected(self, partitions: Collection[str] | None, predicate: Predicate | None) -> FileSet:
        """See `PlanCandidates.selected`."""
        files = self.files
        if partitions is not None:
            chunks = files.table.column("partition_values").chunks
            masks = [_mask(chunk, partitions) for chunk in chunks]
            files = files.where(pa.chunked_array(masks, pa.bool_()).combine_chunks())
        return files if predicate is None else prune(files, self.metadata, predicate)


@dataclass(frozen=True, slots=True)
class IndexedCandidates:
    """Candidates in an index.

    Attributes:
        files: Those on all pages, because an index is not ordered by path.
    """

    files: IndexedFiles
    metadata: TableMetadata
    page: PlanPage

    def partitions(self) -> set[str]:
        """The partitions of all pages."""
        return self.files.partition_texts()

    def selected(self, partitions: Collection[str] | None, predicate: Predicate | None) -> FileSet:
        """See `PlanCandidates.selected`."""
        from sluicegate.tables.snapshot_index.selection import load_files

        files = self.files
        if partitions is not None:
            wanted = {_identity(orjson.loads(text)) for text in partitions}
            files = files.in_partitions(lambda values: _identity(values) in wanted)
        return on_page(load_files(files, self.metadata, predicate), self.page)


def candidates(
    files: FileSet | IndexedFiles, metadata: TableMetadata, page: PlanPage
) -> PlanCandidates:
    """The files on a page of a plan."""
    if isinstance(files, FileSet):
        return LoadedCandidates(on_page(files, page), metadata)
    return IndexedCandidates(files, metadata, page)


def without_others(files: FileSet) -> FileSet:
    """A copy of the live files, so that the others need no memory while a response is sent."""
    batches = (batch for table in files.batches(CHUNK_ROWS) for batch in table.to_batches())
    return FileSet.of(map(FileChunk.of, batches))


def _mask(chunk: pa.DictionaryArray, texts: Collection[str]) -> pa.BooleanArray:
    wanted = [text in texts for text in chunk.dictionary.to_pylist()]
    return pa.array(wanted, pa.bool_()).take(chunk.indices)


def _identity(values: PartitionValues) -> bytes:
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
