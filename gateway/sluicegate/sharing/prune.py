"""The prune step: which of a snapshot's files a request needs."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pyarrow as pa

from sluicegate.tables.snapshot import FileSet

FIRST_BATCH_ROWS = 64
BATCH_ROWS = 1024


def limited(files: FileSet, limit: int | None) -> Iterator[pa.Table]:
    """Batches of files, cut off once they surely hold `limit` rows ("limitHint").

    The first batch is small, so that the first byte leaves early. Files without row counts never
    count, and deleted rows don't.
    """
    rows_left = limit
    for batch in files.batches(BATCH_ROWS, first=FIRST_BATCH_ROWS):
        if rows_left is None:
            yield batch
            continue
        taken, rows_left = _take(batch, rows_left)
        yield batch.slice(0, taken)
        if rows_left <= 0:
            return


def _take(batch: pa.Table, rows_left: int) -> tuple[int, int]:
    """How many of the batch's files are needed, and the rows that are still wanted behind them."""
    vectors = batch.column("deletion_vector").combine_chunks()
    deleted = vectors.field("cardinality").to_pylist()
    for taken, stats in enumerate(batch.column("stats").to_pylist()):
        if rows_left <= 0:
            return taken, rows_left
        rows = _records(stats)
        rows_left -= max(rows - (deleted[taken] or 0), 0)
    return batch.num_rows, rows_left


def _records(stats: str | None) -> int:
    try:
        value = orjson.loads(stats or "{}").get("numRecords")
    except (orjson.JSONDecodeError, AttributeError):
        return 0
    return value if isinstance(value, int) else 0
