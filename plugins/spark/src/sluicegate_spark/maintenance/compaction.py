"""TABLE_COMPACTION: small files become large ones, and deleted rows leave them.

Sources: Iceberg's documentation, "Spark procedures", `rewrite_data_files`; Delta Lake's, "Compaction".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

from pydantic import Field

from sluicegate.api import TaskResult, conditions
from sluicegate_spark.maintenance.columns import (
    Columns,
    Path,
    SortOrder,
    check_columns,
    check_partition_columns,
    names_in,
)
from sluicegate_spark.maintenance.session import OpenTable, delta_table, iceberg_table
from sluicegate_spark.maintenance.sql import identifier
from sluicegate_spark.maintenance.values import Text
from sluicegate_spark.maintenance.where import Where, condition_sql
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work


class IcebergCompaction(Properties):
    """Properties of TABLE_COMPACTION for Iceberg tables; those with hyphens are Iceberg's options."""

    format: Literal["iceberg"] | None = Field(default=None, description="What the table is.")
    strategy: Literal["binpack", "sort"] | None = Field(
        default=None, description="Only join files, or sort their rows as well."
    )
    sort_order: SortOrder | None = Field(
        default=None,
        description="`zorder(a, b)`, or `a DESC NULLS LAST, b`; by default the table's own.",
    )
    where: Where | None = Field(
        default=None, description="Rewrite files that may hold such rows: a condition."
    )
    branch: Text | None = Field(default=None, description="A branch instead of the table's main one.")
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
        """Those that are Iceberg's options, as it reads them."""
        given = self.model_dump(by_alias=True, exclude=_ARGUMENTS, exclude_none=True)
        return {name: str(value).lower() for name, value in given.items()}


_TARGET: Final = "spark.databricks.delta.optimize.maxFileSize"
_ARGUMENTS: Final = {"location", "format", "strategy", "sort_order", "where", "branch"}


class DeltaCompaction(Properties):
    """Properties of TABLE_COMPACTION for Delta tables."""

    format: Literal["delta"] | None = Field(default=None, description="What the table is.")
    where: Where | None = Field(
        default=None, description="Partitions to compact: a condition on partition columns."
    )
    zorder_by: Columns | None = Field(
        default=None, description="Columns to cluster rows by, with commas between them."
    )
    target_bytes: int | None = Field(default=None, alias="target-file-size-bytes", gt=0)


async def compact(work: Work) -> TaskResult:
    """Compact the table of a task.

    Raises:
        TaskFailed: A property is wrong, or another writer was quicker.
    """
    if work.access.table.format == "delta":
        return await _optimize(work)
    return await _rewrite(work)


async def _rewrite(work: Work) -> TaskResult:
    told = parse(IcebergCompaction, work.task.properties)
    arguments = {
        "strategy": told.strategy,
        "sort_order": told.sort_order,
        "where": None if told.where is None else condition_sql(told.where),
        "branch": told.branch,
        "options": told.options,
    }
    async with iceberg_table(work) as table:
        await _check_names(table, told.where, "sort_order", names_in(told.sort_order or ""))
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
    told = parse(DeltaCompaction, work.task.properties)
    settings = {} if told.target_bytes is None else {_TARGET: str(told.target_bytes)}
    async with delta_table(work, settings) as table:
        statement = f"OPTIMIZE {table.name}"
        await _check_names(table, told.where, "zorder_by", told.zorder_by or ())
        if told.where is not None:
            (row,) = await table.sql("DESCRIBE DETAIL", f"DESCRIBE DETAIL {table.name}")
            check_partition_columns(row["partitionColumns"], _paths(told.where), "where")
            statement += f" WHERE {condition_sql(told.where)}"
        if told.zorder_by is not None:
            columns = ", ".join(identifier(*path) for path in told.zorder_by)
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
