"""Pages of a query's files, ordered by path, so that any replica can build the next page."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.packed import BLOCK_ROWS
from sluicegate.tables.snapshot import FILE_SCHEMA, FileSet


def page(files: FileSet, after: str | None, size: int) -> tuple[pa.Table, bool]:
    """The files whose paths come next.

    The order of a snapshot in memory depends on how it was loaded and advanced. The order of paths does
    not.

    Args:
        files: Live files.
        after: The last path of the previous page.
        size: Number of files requested, at least 1.

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
