"""Compares a Delta table with its converted Iceberg table on Spark."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from sluicegate_spark.cluster import KeptFrames, cores_of
from sluicegate_spark.conversion.executor_errors import raise_failure
from sluicegate_spark.conversion.to_iceberg.jobs.difference import (
    CheckedFiles,
    Difference,
    Source,
    candidates,
    check_data_files,
    check_live_files,
    manifest_rows,
    partitions_of,
    raise_unreadable,
)
from sluicegate_spark.conversion.to_iceberg.jobs.known_files import known_files
from sluicegate_spark.conversion.to_iceberg.jobs.log_actions import newest_actions
from sluicegate_spark.conversion.to_iceberg.jobs.manifest_writing import (
    rewritten_manifests,
    written_manifests,
)
from sluicegate_spark.conversion.to_iceberg.jobs.new_files import ADDED, checked_files
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import Row, SnapshotWriter
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.objects import ObjectAccess
from sluicegate_spark.tables import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BYTES_OF_TASK = 16_000_000  # of the log, in a shuffle
_MOST_TASKS = 10_000
_FOOTERS_OF_TASK = 256
_TASKS_OF_CORE = 32
# Spark's driver and this process hold at most this many paths and partitions.
_FEW_FILES = 20_000
_FEW_PARTITIONS = 1_000


class Comparison:
    """Compares the tables in steps, and keeps intermediate results on the cluster's disks."""

    def __init__(
        self,
        session: TaskSession,
        access: TableAccess,
        entries: EntryFormat,
        manifests: Sequence[Row],
    ) -> None:
        self._session = session
        self._access = access
        self._entries = entries
        self._manifests = manifests
        self._kept = KeptFrames()
        self._added: DataFrame | None = None
        self._removed: DataFrame | None = None

    @classmethod
    @asynccontextmanager
    async def within(
        cls,
        session: TaskSession,
        access: TableAccess,
        entries: EntryFormat,
        manifests: Sequence[Row],
    ) -> AsyncIterator[Comparison]:
        """Return a comparison whose intermediate results are dropped at the end of the block."""
        comparison = cls(session, access, entries, manifests)
        try:
            yield comparison
        finally:
            with anyio.CancelScope(shield=True):
                await session.run(lambda spark: comparison._kept.drop())

    async def difference(self, source: Source) -> Difference:
        """See `TableComparison.difference`."""
        tasks = -(-sum(part.size for part in source.parts) // _BYTES_OF_TASK)
        await self._session.tune({"spark.sql.shuffle.partitions": str(min(max(1, tasks), _MOST_TASKS))})
        objects = await self._access.objects()
        return await self._session.run(partial(self._compared, source, objects))

    async def check_added(self, count: int) -> CheckedFiles:
        """See `TableComparison.check_added`."""
        objects = await self._access.objects()
        return await self._session.run(partial(self._checked, count, objects))

    async def write(
        self, writer: SnapshotWriter, added: int, rewritten: Mapping[int, Row]
    ) -> list[Row]:
        """See `TableComparison.write`."""
        return await self._session.run(partial(self._written, writer, added, rewritten))

    def _compared(self, source: Source, objects: ObjectAccess, spark: SparkSession) -> Difference:
        location = self._entries.location
        newest = self._kept.keep(newest_actions(spark, location, source.parts, objects))
        files = self._check_actions(newest, source)
        live = newest.where("failure IS NULL AND NOT removed")
        manifests = self._candidates(newest, source)
        known = known_files(spark, manifests, objects)
        if not source.complete:
            known = _touched(known, newest, few=files <= _FEW_FILES)
        known = self._kept.keep(known)
        raise_failure(_value(known, "max(failure)"))
        self._added = live.select(*ADDED).join(known.select("location"), "location", "left_anti")
        self._removed = known.join(live.select("location"), "location", "left_anti").select(
            "manifest", "location"
        )
        rows: list[Any] = self._removed.groupBy("manifest").count().collect()
        return Difference(int(self._added.count()), {row["manifest"]: row["count"] for row in rows})

    def _check_actions(self, newest: DataFrame, source: Source) -> int:
        """Raise if the table can't be converted, and return the number of affected files."""
        from pyspark.sql.functions import col

        inside = col("location").startswith(f"{self._entries.location}/")
        live = "failure IS NULL AND NOT removed"
        files, unreadable, vectors, outside = newest.withColumn("inside", inside).selectExpr(
            "count(*)",
            "max(struct(failure, part))",
            f"count_if({live} AND has_vector)",
            f"count_if({live} AND NOT inside)",
        ).head() or (0, None, 0, 0)
        if unreadable is not None and unreadable["failure"] is not None:
            raise_unreadable(source, unreadable["part"], unreadable["failure"])
        check_live_files(vectors=bool(vectors), outside=bool(outside))
        return int(files)

    def _candidates(self, newest: DataFrame, source: Source) -> dict[int, str]:
        """Return the locations of manifests that can contain changed files, by their numbers."""
        partitions = None if source.complete else self._partitions(newest)
        found = candidates(self._entries, self._manifests, partitions)
        return {number: row["manifest_path"] for number, row in found.items()}

    def _partitions(self, newest: DataFrame) -> list[list[Any]] | None:
        """Return the partition values of all changed files, or `None` if these are many or unknown."""
        if not self._entries.partition:
            return None
        found = newest.select("partition_values").distinct().limit(_FEW_PARTITIONS + 1)
        texts = [row["partition_values"] for row in list(found.collect())]
        return None if len(texts) > _FEW_PARTITIONS else partitions_of(self._entries, texts)

    def _checked(self, count: int, objects: ObjectAccess, spark: SparkSession) -> CheckedFiles:
        if self._added is None:
            raise RuntimeError("the tables were not compared")
        tasks = min(-(-count // _FOOTERS_OF_TASK), _TASKS_OF_CORE * cores_of(spark))
        files = self._added.repartition(max(1, tasks))
        self._added = self._kept.keep(checked_files(files, self._entries, objects))
        broken, first, failure, dropped, size = self._added.selectExpr(
            "count(broken)",
            "min(if(broken IS NULL, NULL, concat(location, ': ', broken)))",
            "max(failure)",
            "array_distinct(flatten(collect_set(dropped)))",
            "coalesce(sum(size), 0)",
        ).head() or (0, None, None, [], 0)
        check_data_files(broken, first)
        raise_failure(failure)
        return CheckedFiles(int(size), frozenset(dropped))

    def _written(
        self, writer: SnapshotWriter, added: int, rewritten: Mapping[int, Row], spark: SparkSession
    ) -> list[Row]:
        if self._added is None or self._removed is None:
            raise RuntimeError("the tables were not compared")
        rows: list[Row] = []
        if rewritten:
            numbers = spark.createDataFrame([(number,) for number in rewritten], "manifest int")
            removed = numbers.join(self._removed, "manifest", "left")
            rows += _rows(rewritten_manifests(removed, rewritten, writer))
        if added:
            rows += _rows(written_manifests(self._added, added, self._entries, writer))
        return rows


def _touched(known: DataFrame, newest: DataFrame, *, few: bool) -> DataFrame:
    """Return only the known files on which there are actions, and failures."""
    # The converted table contains no files with deletion vectors.
    touched = newest.where("NOT has_vector").selectExpr("location", "true AS touched").distinct()
    joined = known.join(touched.hint("broadcast") if few else touched, "location", "left")
    return joined.where("touched OR failure IS NOT NULL").select("manifest", "location", "failure")


def _value(frame: DataFrame, expression: str) -> Any:
    row: Any = frame.selectExpr(expression).head()
    return None if row is None else row[0]


def _rows(written: DataFrame) -> list[Row]:
    return manifest_rows(written.toArrow().to_pylist())
