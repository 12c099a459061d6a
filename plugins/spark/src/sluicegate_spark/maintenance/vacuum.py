"""TABLE_VACUUM: deletes files of a Delta table that its log no longer needs, after a retention period.

Source: Delta Lake documentation, "Remove files no longer referenced by a Delta table".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field, model_validator

from sluicegate.api import TaskFailed, TaskResult
from sluicegate_spark.cluster import cores_of
from sluicegate_spark.maintenance.session import OpenTable, delta_table
from sluicegate_spark.maintenance.storage_settings import hadoop_location
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_FILES_OF_TASK = 50_000  # of the table's state and of the listing, in a shuffle
_DELETIONS_OF_TASK = 1_000
_MOST_TASKS = 10_000
_TASKS_OF_CORE = 4


def vacuum_settings(files: int, cores: int) -> Mapping[str, str]:
    """Return settings for a VACUUM."""
    balanced = min(_TASKS_OF_CORE * cores, max(1, -(-files // _DELETIONS_OF_TASK)))
    shuffled = min(_MOST_TASKS, max(cores, -(-files // _FILES_OF_TASK)))
    return {
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(max(cores, balanced)),
        "spark.sql.shuffle.partitions": str(shuffled),
        "spark.databricks.delta.vacuum.parallelDelete.enabled": "true",
        "spark.databricks.delta.vacuum.parallelDelete.parallelism": str(max(cores, balanced)),
    }


_WEEK: Final = 168  # hours
_SHOWN: Final = 10
_COMMITS: Final = 100  # maximum number of concurrent commits by others
# The number of deleted files is only in the log. The log also explains to users why a version is no
# longer available.
_LOGGED: Final = {"spark.databricks.delta.vacuum.logging.enabled": "true"}
_UNCHECKED: Final = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}


class Vacuum(Properties):
    """Properties of TABLE_VACUUM."""

    format: Literal["delta"] | None = Field(default=None, description="The table format.")
    retain_hours: int | None = Field(
        default=None,
        ge=0,
        description="Keep files that the log needed within this many hours. Default: the table's own "
        "property `delta.deletedFileRetentionDuration`, or else 168.",
    )
    dry_run: bool = Field(
        default=False, description="Delete nothing; report which files would be deleted."
    )
    force: bool = Field(
        default=False,
        description="Also allow less than 168 hours, which can break running readers and writers. "
        "Also run if an Iceberg table is in the directory.",
    )

    @model_validator(mode="after")
    def _refuse_short_retention(self) -> Vacuum:
        if not self.force and self.retain_hours is not None and self.retain_hours < _WEEK:
            raise ValueError(
                f"retain_hours is less than {_WEEK}, so files that readers or writers still need "
                "could be deleted; to allow this, set the property 'force'"
            )
        return self


async def run_vacuum(work: Work) -> TaskResult:
    """Vacuum the Delta table of a task."""
    properties = parse(Vacuum, work.task.properties)
    settings = {**_LOGGED, **(_UNCHECKED if properties.force else {})}
    async with delta_table(work, settings) as table:
        if not properties.force:
            location = hadoop_location(work.access.table.location)
            await table.run("VACUUM", lambda spark: _refuse_iceberg(spark, location))
        await _tune(table)
        statement = f"VACUUM {table.name}"
        if properties.retain_hours is not None:
            statement += f" RETAIN {properties.retain_hours} HOURS"
        if properties.dry_run:
            return _dry_run_result(
                [row["path"] for row in await table.sql("VACUUM", f"{statement} DRY RUN")]
            )
        before = await _last_version(table)
        await table.sql("VACUUM", statement)
        return _result(await _logged_since(table, before))


async def _tune(table: OpenTable) -> None:
    """Use as many Spark tasks as the table and the cluster need."""
    (detail,) = await table.sql("DESCRIBE DETAIL", f"DESCRIBE DETAIL {table.name}")
    cores = await table.session.run(cores_of)
    await table.session.tune(vacuum_settings(detail["numFiles"] or 0, cores))


def _refuse_iceberg(spark: SparkSession, location: str) -> None:
    from pyspark.errors import AnalysisException

    try:
        _ = spark.read.text(f"{location}/metadata/*.metadata.json").schema
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return
        raise
    raise TaskFailed(
        "an Iceberg table is in the table's directory, and VACUUM would delete its metadata and "
        "its files; to run it anyway, set the property 'force'",
        error_code="INVALID_PAYLOAD",
    )


async def _last_version(table: OpenTable) -> int:
    (row,) = await table.sql("DESCRIBE HISTORY", f"DESCRIBE HISTORY {table.name} LIMIT 1")
    return int(row["version"])


async def _logged_since(table: OpenTable, version: int) -> dict[str, str]:
    """Return the entries that this VACUUM wrote to the log at its start and end."""
    rows = await table.sql("DESCRIBE HISTORY", f"DESCRIBE HISTORY {table.name} LIMIT {_COMMITS}")
    found: dict[str, Any] = {}
    for row in rows:
        if row["version"] > version and row["operation"].startswith("VACUUM"):
            found |= row["operationMetrics"] or {}
    return found


def _dry_run_result(paths: list[str]) -> TaskResult:
    return TaskResult(
        f"{len(paths)} files would be deleted",
        files_deleted=0,
        bytes_deleted=0,
        further={"unneeded_files": len(paths), "examples": ", ".join(paths[:_SHOWN])},
    )


def _result(logged: dict[str, str]) -> TaskResult:
    deleted = int(logged.get("numDeletedFiles", 0))
    wanted = int(logged.get("numFilesToDelete", deleted))
    size = int(logged.get("sizeOfDataToDelete", 0))
    return TaskResult(
        f"{deleted} files that the table no longer needs were deleted",
        files_deleted=deleted,
        bytes_deleted=size if deleted == wanted else None,
        further={"vacuumed_directories": int(logged.get("numVacuumedDirectories", 0))},
    )
