"""ORPHAN_FILE_REMOVAL: deletes files in an Iceberg table's directory that the table doesn't use.

Source: Iceberg documentation, "Spark procedures", `remove_orphan_files`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from sluicegate.api import TaskFailed, TaskProgress, TaskResult
from sluicegate_spark.maintenance.orphan_candidates import old_files
from sluicegate_spark.maintenance.property_types import Moment
from sluicegate_spark.maintenance.session import OpenTable, iceberg_table
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.purge.deletion import Deletion, delete_objects
from sluicegate_spark.purge.pace import Pace
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VIEW: Final = "task_files"
_AGE: Final = timedelta(days=3)
_LEAST_AGE: Final = timedelta(hours=24)
_SHOWN: Final = 10
_AT_ONCE: Final = 10_000  # files per set of credentials


class Orphans(Properties):
    """Properties of ORPHAN_FILE_REMOVAL."""

    format: Literal["iceberg"] | None = Field(default=None, description="The table format.")
    older_than: Moment = Field(
        default_factory=lambda: datetime.now(UTC) - _AGE,
        description="Delete files last modified before this time. Default: 3d.",
    )
    dry_run: bool = Field(
        default=False, description="Delete nothing; report which files would be deleted."
    )
    force: bool = Field(
        default=False,
        description="Also delete files of the last 24 hours, which writers might be about to commit. "
        "Also run if another table is in the directory.",
    )

    @model_validator(mode="after")
    def _refuse_young_files(self) -> Orphans:
        if not self.force and datetime.now(UTC) - self.older_than < _LEAST_AGE:
            raise ValueError(
                "older_than is less than 24 hours ago, so files that a writer is about to commit "
                "could be deleted; to allow this, set the property 'force'"
            )
        return self


async def remove_orphans(work: Work) -> TaskResult:
    """Remove the orphans of a task's table.

    Raises:
        TaskFailed: A property is invalid, another table is in the directory, or some files could not
            be deleted.
        StorageError: The directory can't be listed.
    """
    properties = parse(Orphans, work.task.properties)
    async with iceberg_table(work) as table:
        work.run.report(TaskProgress("listing"))
        access = await work.access.objects()
        files = await old_files(
            access, work.access.table, properties.older_than, shared=properties.force
        )
        found = await _unknown(table, files)
    if properties.dry_run:
        return _dry_run_result(found, work.access.table.location)
    return _result(await _delete(work, found))


async def _unknown(table: OpenTable, files: pa.Table) -> pa.Table:
    """Return the files that no snapshot of the table uses. Their age is already checked."""
    if not files.num_rows:
        return files
    view = pa.table({"file_path": files["location"], "last_modified": _long_ago(files.num_rows)})

    def show(spark: SparkSession) -> None:
        spark.createDataFrame(view).createOrReplaceTempView(_VIEW)

    await table.run("listing", show)
    rows = await table.procedure("remove_orphan_files", {"dry_run": True, "file_list_view": _VIEW})
    names = pa.array([row["orphan_file_location"] for row in rows], pa.string())
    return files.filter(pc.is_in(files["location"], names)).sort_by("location")


def _long_ago(count: int) -> pa.Array:
    return pa.repeat(pa.scalar(0, pa.timestamp("us", "UTC")), count)


async def _delete(work: Work, files: pa.Table) -> Deletion:
    total, pace = Deletion(), Pace(work.deletions_per_second)
    for batch in _parts(files):
        access = await work.access.objects()
        total += await anyio.to_thread.run_sync(delete_objects, access, batch, pace)
        work.run.report(TaskProgress("deletion", total.deleted, files.num_rows, total.size))
    return total


def _parts(files: pa.Table) -> Iterator[list[str]]:
    for batch in files.to_batches(_AT_ONCE):
        yield batch["location"].to_pylist()


def _dry_run_result(found: pa.Table, location: str) -> TaskResult:
    names = [each.removeprefix(f"{location}/") for each in found["location"][:_SHOWN].to_pylist()]
    further: dict[str, int | str] = {
        "orphan_files": found.num_rows,
        "orphan_bytes": pc.sum(found["bytes"]).as_py() or 0,
        "examples": ", ".join(names),
    }
    return TaskResult(
        f"{found.num_rows} orphan files would be deleted",
        files_deleted=0,
        bytes_deleted=0,
        further=further,
    )


def _result(done: Deletion) -> TaskResult:
    if done.left:
        raise TaskFailed(
            f"{done.left} orphan files could not be deleted, '{done.example}' among them",
            error_code="STORAGE_FAILED",
            retryable=True,
            detail=done.reason,
        )
    return TaskResult(
        f"{done.deleted} orphan files were deleted",
        files_deleted=done.deleted,
        bytes_deleted=done.size,
    )
