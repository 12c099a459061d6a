"""Scheduler pools, between which Spark divides the cluster, so that no task holds up the others.

Source: Spark documentation, "Job Scheduling", "Scheduling Within an Application".
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_MOST_CORES = 100_000


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is one of a Spark Connect server."""
    return not hasattr(spark, "_jsparkSession")


def cores_of(spark: SparkSession) -> int:
    """Return the number of Spark tasks that run at once: Spark's default parallelism.

    With dynamic allocation, it grows while executors are added.
    """
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # Spark divides a range into as many partitions, and Spark Connect has no other way to find out.
    partitions = spark.range(_MOST_CORES).selectExpr("spark_partition_id() AS number")
    return int(partitions.distinct().count())


class KeptFrames:
    """Persisted frames. All methods are called in a thread of Spark's session."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def keep(self, frame: DataFrame, *, in_memory: bool = False) -> DataFrame:
        """Compute a frame only once."""
        from pyspark.storagelevel import StorageLevel

        level = StorageLevel.MEMORY_AND_DISK_DESER if in_memory else StorageLevel.DISK_ONLY
        kept = frame.persist(level)
        self._frames.append(kept)
        return kept

    def drop(self) -> None:
        """Release all frames."""
        while self._frames:
            self._frames.pop().unpersist()


def sent_rows(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return the rows of an Arrow table as a frame.

    The types are always given, because Spark Connect doesn't take them from tables without rows.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    schema: Any = from_arrow_schema(table.schema)
    return spark.createDataFrame(table, schema)


FAIR = {"spark.scheduler.mode": "FAIR"}
"""Settings with which Spark divides cores between pools."""

_POOL = "spark.scheduler.pool"


class Pools:
    """Gives each running task a pool. Spark keeps every pool that it has seen, so they are reused."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    @contextmanager
    def pool(self) -> Iterator[str]:
        """Take a pool until the block ends."""
        with self._lock:
            number = next(each for each in range(len(self._taken) + 1) if each not in self._taken)
            self._taken.add(number)
        try:
            yield f"sluicegate-{number}"
        finally:
            with self._lock:
                self._taken.remove(number)


@contextmanager
def in_pool(spark: SparkSession, pool: str | None) -> Iterator[None]:
    """Start the jobs of this thread in a pool until the block ends; `None` is the default pool."""
    if pool is None:
        yield
        return
    context: Any = spark.sparkContext
    context.setLocalProperty(_POOL, pool)
    try:
        yield
    finally:
        context.setLocalProperty(_POOL, None)
