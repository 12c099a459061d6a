"""Measures Delta tables by their logs, which the gateway's reader reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.formats import FileSet
from sluicegate_spark.delta_reader import delta_snapshot
from sluicegate_spark.maintenance.need.iceberg import SMALL_SHARE
from sluicegate_spark.maintenance.need.thresholds import Measured, RowThreshold, files_measured
from sluicegate_spark.work import Work

_DEFAULT_TARGET: Final = 1024 * 1024 * 1024
_BATCH: Final = 65_536
_NUM_RECORDS: Final = r'"numRecords"\s*:\s*(?P<rows>[0-9]{1,18})\b'


async def measured_files(
    work: Work,
    small_files: int | None,
    deleted_rows: RowThreshold | None,
    *,
    target_bytes: int | None,
) -> Sequence[Measured]:
    """Count small files that can be combined with others of their partition, and deleted rows."""
    if small_files is None and deleted_rows is None:
        return ()
    snapshot = await delta_snapshot(await work.access.objects(), work.access.table.location)
    if snapshot is None:
        return ()  # Delta Lake reports that there is no table
    smaller = round(SMALL_SHARE * (target_bytes or _DEFAULT_TARGET))
    small, deleted, rows = await anyio.to_thread.run_sync(_counted, snapshot.files, smaller)
    return files_measured(small, deleted, rows, small_files, deleted_rows)


def _counted(files: FileSet, smaller: int) -> tuple[int, int, int]:
    """Return the numbers of small files, of deleted rows, and of all rows in files."""
    small, deleted, rows = Counter[str](), 0, 0
    for batch in files.batches(_BATCH):
        of_small = batch.column("partition_values").filter(pc.less(batch.column("size"), smaller))
        for each in pc.value_counts(of_small.cast(pa.string())).to_pylist():
            small[each["values"]] += each["counts"]
        deleted += _sum(pc.struct_field(batch.column("deletion_vector"), "cardinality"))
        found = pc.extract_regex(batch.column("stats"), _NUM_RECORDS)
        rows += _sum(pc.struct_field(found, "rows").cast(pa.int64()))
    return sum(count for count in small.values() if count > 1), deleted, rows


def _sum(numbers: pa.ChunkedArray) -> int:
    return int(pc.sum(numbers).as_py() or 0)
