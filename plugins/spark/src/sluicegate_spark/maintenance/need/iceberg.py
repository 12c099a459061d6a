"""Measures Iceberg tables with their metadata tables, which Spark's executors read.

Source: Iceberg documentation, "Spark queries", "Inspecting tables".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from sluicegate_spark.maintenance.need.thresholds import Measured, RowThreshold, files_measured
from sluicegate_spark.maintenance.session import OpenTable
from sluicegate_spark.maintenance.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_SHARE: Final = 0.75
"""Files that are smaller than this share of the target are small, as in Iceberg's procedure."""

_TARGET: Final = "write.target-file-size-bytes"
_DEFAULT_TARGET: Final = 512 * 1024 * 1024


async def measured_files(
    table: OpenTable,
    small_files: int | None,
    deleted_rows: RowThreshold | None,
    *,
    small_bytes: int | None,
    branch: str | None,
) -> Sequence[Measured]:
    """Count small files that can be combined with others of their partition, and deleted rows."""
    if small_files is None and deleted_rows is None:
        return ()
    smaller = small_bytes or round(SMALL_SHARE * await _target_bytes(table))
    at = "" if branch is None else f" VERSION AS OF {literal(branch)}"

    def count(spark: SparkSession) -> tuple[int, int, int]:
        files = spark.sql(f"SELECT * FROM {table.name}.files{at}")  # noqa: S608 (both are quoted)
        return _small_files(files, smaller), *_rows(files)

    small, deleted, rows = await table.run("thresholds", count)
    return files_measured(small, deleted, rows, small_files, deleted_rows)


async def measured_snapshots(
    table: OpenTable, count: int | None, older_than: datetime | None
) -> Sequence[Measured]:
    """Count snapshots, and those that no branch or tag keeps and that are older than a time."""
    if count is None and older_than is None:
        return ()
    old = "false" if older_than is None else f"committed_at < {literal(older_than)}"

    def count_both(spark: SparkSession) -> tuple[int, int]:
        kept = spark.table(f"{table.name}.refs").select("snapshot_id")
        snapshots = spark.table(f"{table.name}.snapshots")
        unnamed = snapshots.join(kept, "snapshot_id", "left_anti")
        return int(snapshots.count()), int(unnamed.where(old).count())

    snapshots, older = await table.run("thresholds", count_both)
    return (
        Measured("snapshots", snapshots, count, snapshots >= (count or 0)),
        Measured("old_snapshots", older, None if older_than is None else 1, older > 0),
    )


async def _target_bytes(table: OpenTable) -> int:
    for row in await table.sql("thresholds", f"SHOW TBLPROPERTIES {table.name}"):
        text = str(row["value"])
        if row["key"] == _TARGET and text.isdecimal() and len(text) < 19:
            return int(text)
    return _DEFAULT_TARGET


def _small_files(files: DataFrame, smaller: int) -> int:
    group = [name for name in ("spec_id", "partition") if name in files.columns]
    small = files.where(f"content = 0 AND file_size_in_bytes < {smaller}").groupBy(*group).count()
    (row,) = small.where("count > 1").selectExpr("coalesce(sum(count), 0)").collect()
    return int(row[0])


def _rows(files: DataFrame) -> tuple[int, int]:
    """Return the number of deleted rows, and that of all rows in data files."""
    deleted, rows = (f"coalesce(sum(if(content {kind} 0, record_count, 0)), 0)" for kind in ("<>", "="))
    (row,) = files.selectExpr(deleted, rows).collect()
    return int(row[0]), int(row[1])
