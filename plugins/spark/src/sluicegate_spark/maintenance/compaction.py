"""TABLE_COMPACTION: combines small files and removes deleted rows from files.

Sources: Iceberg documentation, "Spark procedures", `rewrite_data_files`; Delta Lake documentation,
"Compaction".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sluicegate.api import TaskResult, conditions
from sluicegate.formats import FileSet
from sluicegate_spark.delta_reader import delta_snapshot
from sluicegate_spark.maintenance.column_names import (
    Columns,
    Path,
    SortOrder,
    check_columns,
    check_partition_columns,
    names_in,
)
from sluicegate_spark.maintenance.condition_sql import Where, condition_sql
from sluicegate_spark.maintenance.need import iceberg
from sluicegate_spark.maintenance.need.iceberg import SMALL_SHARE
from sluicegate_spark.maintenance.need.thresholds import (
    Measured,
    Rows,
    RowThreshold,
    files_measured,
    unneeded,
)
from sluicegate_spark.maintenance.property_types import Text
from sluicegate_spark.maintenance.session import OpenTable, delta_table, iceberg_table
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.properties import Properties, parse
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


class Compaction(Properties):
    """Properties of TABLE_COMPACTION for tables of both formats."""

    only_if_small_files: int | None = Field(
        default=None,
        ge=2,
        description="Do nothing if fewer small files can be combined, unless another threshold is "
        "reached.",
    )
    only_if_deleted_rows: Rows | None = Field(
        default=None,
        description="Do nothing if fewer rows are deleted, such as `10000` or `5%`, unless another "
        "threshold is reached.",
    )


class IcebergCompaction(Compaction):
    """Properties of TABLE_COMPACTION for Iceberg tables. Hyphenated ones are Iceberg's options."""

    format: Literal["iceberg"] | None = Field(default=None, description="The table format.")
    strategy: Literal["binpack", "sort"] | None = Field(
        default=None, description="Only combine files (`binpack`), or also sort their rows."
    )
    sort_order: SortOrder | None = Field(
        default=None,
        description="`zorder(a, b)`, or `a DESC NULLS LAST, b`. Default: the sort order of the table.",
    )
    where: Where | None = Field(
        default=None,
        description="A condition. Only files that might contain matching rows are rewritten.",
    )
    branch: Text | None = Field(default=None, description="A branch to use instead of the main branch.")
    target_bytes: int | None = Field(default=None, alias="target-file-size-bytes", gt=0)
    min_bytes: int | None = Field(default=None, alias="min-file-size-bytes", ge=0)
    max_bytes: int | None = Field(default=None, alias="max-file-size-bytes", gt=0)
    min_files: int | None = Field(default=None, alias="min-input-files", ge=1)
    max_files: int | None = Field(default=None, alias="max-files-to-rewrite", ge=1)
    group_bytes: int | None = Field(default=None, alias="max-file-group-size-bytes", gt=0)
    groups_at_once: int | None = Field(default=None, alias="max-concurrent-file-group-rewrites", ge=1)
    delete_files: int | None = Field(default=None, alias="delete-file-threshold", ge=1)
    delete_ratio: float | None = Field(default=None, alias="delete-ratio-threshold", ge=0, le=1)
    rewrite_all: bool | None = Field(default=None, alias="rewrite-all")
    dangling: bool = Field(default=True, alias="remove-dangling-deletes")
    starting_sequence: bool | None = Field(default=None, alias="use-starting-sequence-number")
    partial: bool | None = Field(default=None, alias="partial-progress.enabled")
    partial_commits: int | None = Field(default=None, alias="partial-progress.max-commits", ge=1)
    job_order: Literal["none", "bytes-asc", "bytes-desc", "files-asc", "files-desc"] | None = Field(
        default=None, alias="rewrite-job-order"
    )
    output_spec: int | None = Field(default=None, alias="output-spec-id", ge=0)
    compression_factor: float | None = Field(default=None, alias="compression-factor", gt=0)
    shuffle_partitions: int | None = Field(default=None, alias="shuffle-partitions-per-file", ge=1)

    @property
    def options(self) -> dict[str, str]:
        """Return the properties that are options of Iceberg's procedure."""
        given = self.model_dump(by_alias=True, exclude=_ARGUMENTS, exclude_none=True)
        return {name: str(value).lower() for name, value in given.items()}


_TARGET: Final = "spark.databricks.delta.optimize.maxFileSize"
_ARGUMENTS: Final = {
    *Compaction.model_fields,
    *("format", "strategy", "sort_order", "where", "branch"),
}


class DeltaCompaction(Compaction):
    """Properties of TABLE_COMPACTION for Delta tables."""

    format: Literal["delta"] | None = Field(default=None, description="The table format.")
    where: Where | None = Field(
        default=None,
        description="A condition on partition columns that selects the partitions to compact.",
    )
    zorder_by: Columns | None = Field(
        default=None, description="Columns to cluster rows by, separated by commas."
    )
    target_bytes: int | None = Field(default=None, alias="target-file-size-bytes", gt=0)


async def compact(work: Work) -> TaskResult:
    """Compact the table of a task."""
    if work.access.table.format == "delta":
        return await _optimize(work)
    return await _rewrite(work)


async def _rewrite(work: Work) -> TaskResult:
    properties = parse(IcebergCompaction, work.task.properties)
    arguments = {
        "strategy": properties.strategy,
        "sort_order": properties.sort_order,
        "where": None if properties.where is None else condition_sql(properties.where),
        "branch": properties.branch,
        "options": properties.options,
    }
    async with iceberg_table(work) as table:
        await _check_names(table, properties.where, "sort_order", names_in(properties.sort_order or ""))
        measured = await iceberg.measured_files(
            table,
            properties.only_if_small_files,
            properties.only_if_deleted_rows,
            small_bytes=_small_bytes(properties),
            branch=properties.branch,
        )
        if (done := unneeded(measured)) is not None:
            return done
        (row,) = await table.procedure("rewrite_data_files", arguments)
    return _result(
        {
            "rewritten_data_files": row["rewritten_data_files_count"],
            "added_data_files": row["added_data_files_count"],
            "rewritten_bytes": row["rewritten_bytes_count"],
            "failed_data_files": row["failed_data_files_count"],
            "removed_delete_files": row["removed_delete_files_count"],
        }
    )


async def _optimize(work: Work) -> TaskResult:
    properties = parse(DeltaCompaction, work.task.properties)
    settings = {} if properties.target_bytes is None else {_TARGET: str(properties.target_bytes)}
    async with delta_table(work, settings) as table:
        statement = f"OPTIMIZE {table.name}"
        await _check_names(table, properties.where, "zorder_by", properties.zorder_by or ())
        if properties.where is not None:
            (row,) = await table.sql("DESCRIBE DETAIL", f"DESCRIBE DETAIL {table.name}")
            check_partition_columns(row["partitionColumns"], _paths(properties.where), "where")
            statement += f" WHERE {condition_sql(properties.where)}"
        measured = await measured_files(
            work,
            properties.only_if_small_files,
            properties.only_if_deleted_rows,
            target_bytes=properties.target_bytes,
        )
        if (done := unneeded(measured)) is not None:
            return done
        if properties.zorder_by is not None:
            columns = ", ".join(identifier(*path) for path in properties.zorder_by)
            statement += f" ZORDER BY ({columns})"
        (row,) = await table.sql("OPTIMIZE", statement)
    metrics: Mapping[str, Any] = row["metrics"]
    vectors = metrics["deletionVectorStats"] or {}
    return _result(
        {
            "rewritten_data_files": metrics["numFilesRemoved"],
            "added_data_files": metrics["numFilesAdded"],
            "rewritten_bytes": metrics["filesRemoved"]["totalSize"],
            "added_bytes": metrics["filesAdded"]["totalSize"],
            "removed_deletion_vectors": vectors.get("numDeletionVectorsRemoved", 0),
        }
    )


def _small_bytes(properties: IcebergCompaction) -> int | None:
    if properties.min_bytes is not None or properties.target_bytes is None:
        return properties.min_bytes
    return round(iceberg.SMALL_SHARE * properties.target_bytes)


async def _check_names(
    table: OpenTable, where: conditions.Expression | None, place: str, others: Collection[Path]
) -> None:
    if where is None and not others:
        return
    schema = await table.run("schema", lambda spark: spark.table(table.name).schema)
    check_columns(schema, () if where is None else _paths(where), "where")
    check_columns(schema, others, place)


def _paths(where: conditions.Expression) -> list[Path]:
    return [column.path for column in conditions.columns_of(where)]


def _result(further: Mapping[str, int]) -> TaskResult:
    old, new = further["rewritten_data_files"], further["added_data_files"]
    return TaskResult(f"{old} data files were rewritten as {new}", further=further)
