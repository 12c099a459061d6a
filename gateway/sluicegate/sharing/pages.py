"""Pages of a query's files: in the order of their paths, so that any replica can make the next one."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.snapshot import FileSet


def page(files: FileSet, after: str | None, size: int) -> tuple[pa.Table, bool]:
    """The files whose paths come next.

    The order that a snapshot happens to have in memory depends on how it was loaded and advanced;
    the order of paths does not.

    Args:
        files: Live files.
        after: The last path of the page before.
        size: Number of files wanted, at least 1.

    Returns:
        Rows of `FILE_SCHEMA`, sorted by path, and whether there are more behind them.
    """
    rows = _candidates(files, after)
    if not len(rows):  # over no rows, Arrow's compute functions crash the process
        return files.table.slice(0, 0), False
    candidates = pa.table({"path": files.table.column("path").take(rows), "row": rows})
    chosen = pc.select_k_unstable(candidates, size + 1, sort_keys=[("path", "ascending")])
    picked = candidates.column("row").take(chosen)
    return files.table.take(picked.slice(0, size)), len(picked) > size


def _candidates(files: FileSet, after: str | None) -> pa.Array:
    """Rows of the files behind a path."""
    paths, wanted = files.table.column("path"), files.live
    if after is not None and len(paths):
        behind = pc.greater(paths, after)
        wanted = behind if wanted is None else pc.and_(behind, wanted)
    everything = pa.array(range(len(paths)), pa.int64())
    return everything if wanted is None else pc.indices_nonzero(wanted)
