"""Splits a plan's files into pages by path, so that any replica can answer any of them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.snapshot import FileSet

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
    """The pages of at most `size` files into which a range is split. At least one, which can be empty.

    Args:
        files: The files of the range.
        page: The range.
        size: At least 1.
    """
    if len(files) <= size:
        return [page]
    paths = files.table.column("path")
    live = paths if files.live is None else pc.filter(paths, files.live)
    ordered = pc.sort_indices(live)
    ends = live.take(ordered.take(pa.array(range(size - 1, len(live) - 1, size)))).to_pylist()
    starts = [page.after, *ends]
    return [PlanPage(*bounds) for bounds in zip(starts, [*ends, page.until], strict=True)]
