"""ORPHAN_FILE_REMOVAL: deletes files in an Iceberg table's directory that the table doesn't use.

Source: Iceberg documentation, "Spark procedures", `remove_orphan_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from sluicegate.api import TaskFailed, TaskProgress, TaskResult
from sluicegate_spark.maintenance.property_types import Moment
from sluicegate_spark.orphans.directory_listing import TableDirectory
from sluicegate_spark.orphans.listed_directory import CandidateFiles, list_directory
from sluicegate_spark.orphans.used_files import UsedFiles, current_location, read_current, used_files
from sluicegate_spark.properties import Properties, parse
from sluicegate_spark.purge.deletion import Deletion
from sluicegate_spark.purge.progress import DeletionProgress
from sluicegate_spark.purge.sorted_files import PATH
from sluicegate_spark.purge.waves import SETTINGS, Listed, Waves
from sluicegate_spark.tables import Table, TaskCatalog
from sluicegate_spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Names of the same file can have different schemes or hosts, and Hadoop reads `a//b` as `a/b`. A file
# is kept if any name might be its own.
_KEY: Final = "regexp_replace(regexp_replace(path, '^[A-Za-z][^:/]*:/+[^/]*/', ''), '/+', '/') AS key"


@dataclass(frozen=True, slots=True)
class UnusedFiles:
    """Files that no metadata of the table names.

    Attributes:
        rows: Their location (`path`) and `bytes`, stored on the cluster's disks.
        size: Total bytes.
    """

    rows: DataFrame
    count: int
    size: int

    @property
    def listed(self) -> Listed:
        """Return their locations."""
        return Listed([self.rows.select("path")], self.count)

    def examples(self, most: int, spark: SparkSession) -> list[str]:
        """Return some of the locations, in their order."""
        return [str(row["path"]) for row in self.rows.orderBy("path").limit(most).collect()]


async def unused_files(
    waves: Waves, bucket: str, files: CandidateFiles, used: UsedFiles
) -> UnusedFiles:
    """Return the files that are not used."""
    parts = (await waves.cluster()).parts(files.count + used.count)

    def compare(spark: SparkSession) -> UnusedFiles:
        from pyspark.sql.functions import col, concat, lit

        others = pa.table({"path": pa.array(used.others, pa.string())})
        named = _union([spark.createDataFrame(others, PATH), *used.listed.frames])
        keys = named.selectExpr(_KEY).repartition(parts, "key")
        listed = _union(files.frames).repartition(parts, "key")
        location = concat(lit(bucket), col("key")).alias("path")
        rows = waves.keep(listed.join(keys, "key", "left_anti").select(location, "bytes"))
        count, size = rows.selectExpr("count(*)", "coalesce(sum(bytes), 0)").head() or (0, 0)
        return UnusedFiles(rows, int(count), int(size))

    return await waves.session.run(compare)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda some, more: some.union(more), frames)


_AGE: Final = timedelta(days=3)
_LEAST_AGE: Final = timedelta(hours=24)
_SHOWN: Final = 10
_STAGE: Final = "deletion"


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
    """Remove the orphans of a task's table."""
    properties = parse(Orphans, work.task.properties)
    table, limit = work.access.table, work.deletions_per_second
    catalog, location = _of_catalog(work)
    await read_current(work.access, location)
    directory = TableDirectory(
        table.location, location.rpartition("/")[0], properties.older_than, properties.force
    )
    async with (
        work.engine.session(work.task.id, SETTINGS) as session,
        Waves.within(session, work.access, limit, work.run.check_lease) as waves,
    ):
        files = await list_directory(waves, directory, partial(_report_listing, work))
        location = await current_location(catalog, table)
        history = await read_current(work.access, location)
        used = await used_files(waves, work.access, location, history)
        unused = await unused_files(waves, _bucket(table), files, used)
        if properties.dry_run:
            examples = await session.run(partial(unused.examples, _SHOWN))
            return _dry_run_result(
                unused, [each.removeprefix(f"{table.location}/") for each in examples]
            )
        return await _delete(work, waves, unused)


def _of_catalog(work: Work) -> tuple[TaskCatalog, str]:
    """Return the catalog of an Iceberg table, and the table's metadata file."""
    table = work.access.table
    if table.format == "delta":
        raise _unfit(f"{work.task.operation} is for Iceberg tables, and this is a Delta table")
    if table.catalog is None or table.metadata_location is None:
        raise _unfit(
            f"changing an Iceberg table needs its catalog, but '{work.task.table.catalog}' is not "
            "configured for the executor"
        )
    return table.catalog, table.metadata_location


def _unfit(why: str) -> TaskFailed:
    return TaskFailed(why, error_code="INVALID_PAYLOAD")


def _bucket(table: Table) -> str:
    scheme, _, rest = table.location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/"


def _report_listing(work: Work, files: int) -> None:
    before = work.task.progress or TaskProgress("")
    stage = f"listing: {files:,} old files so far"
    work.run.report(TaskProgress(stage, before.files_done, None, before.bytes_done))


async def _delete(work: Work, waves: Waves, unused: UnusedFiles) -> TaskResult:
    progress = DeletionProgress.resumed(work.task, work.run)
    progress.expect(_STAGE, progress.files + unused.count)
    files = await waves.sort(unused.listed)
    done = await waves.delete(files, partial(progress.add, _STAGE))
    if done.left:
        raise _left(done)
    return TaskResult(
        f"{progress.files} orphan files were deleted",
        files_deleted=progress.files,
        bytes_deleted=progress.size,
    )


def _left(done: Deletion) -> TaskFailed:
    return TaskFailed(
        f"{done.left} orphan files could not be deleted, '{done.example}' among them",
        error_code="STORAGE_FAILED",
        retryable=True,
        detail=done.reason,
    )


def _dry_run_result(unused: UnusedFiles, examples: list[str]) -> TaskResult:
    further: dict[str, int | str] = {
        "orphan_files": unused.count,
        "orphan_bytes": unused.size,
        "examples": ", ".join(examples),
    }
    return TaskResult(
        f"{unused.count} orphan files would be deleted",
        files_deleted=0,
        bytes_deleted=0,
        further=further,
    )
