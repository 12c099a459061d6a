"""VACUUM of a small table needs few Spark tasks, on any master.

`test_engine.py` runs these tests in a separate process, with settings of Spark as users have them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest_asyncio

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskResult
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_testing.executors import RecordedRun

from .spark_requirements import SETTINGS, require_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES, FILES = 4, 20
MOST = 300  # Spark tasks; with the defaults of Spark and Delta Lake, there are more than 10,000
DELTA = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}
# Compiling is most of what a small table costs.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "2",
}
# Settings that the tests usually change to have fewer Spark tasks.
DEFAULTS = ("spark.default.parallelism", "spark.sql.shuffle.partitions")


@pytest_asyncio.fixture
async def executor(tmp_path: Path) -> AsyncIterator[SparkExecutor]:
    conf = {name: value for name, value in SETTINGS.items() if name not in DEFAULTS}
    section = {
        "master": f"local[{CORES}]",
        "jars": str(require_jars()),
        "conf": conf | INTERPRETED | {"spark.local.dir": str(tmp_path / "spark")},
    }
    executor = SparkExecutor(SparkConfig.model_validate(section))
    yield executor
    await executor.aclose()


async def vacuumed(executor: SparkExecutor, location: str, **properties: str) -> TaskResult:
    told = {"format": "delta", "location": location, **properties}
    task = DelegatedTask(
        "t-1",
        "TABLE_VACUUM",
        "prod",
        TableIdentity("7", "none", ("eu",), "orders"),
        properties=told,
        grant=RealmGrant(locations=(f"{location}/",)),
    )
    access = await executor.acquire(task)
    return await executor.run(task, access, RecordedRun())


def write(spark: SparkSession, location: str) -> None:
    """Write files, and replace them."""
    for _ in range(2):
        spark.range(0, FILES, 1, FILES).write.format("delta").mode("overwrite").save(location)


def started_tasks(spark: SparkSession) -> int:
    """Return how many Spark tasks have started in all sessions, including one that finds out."""

    def number(_: object) -> list[int]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return [context.taskAttemptId()]

    (found,) = spark.sparkContext.parallelize([0], 1).mapPartitions(number).collect()
    return int(found)


async def test_a_small_table_needs_few_spark_tasks(executor: SparkExecutor, tmp_path: Path) -> None:
    location = (tmp_path / "orders").as_uri()
    async with executor._engine.session("write", DELTA) as session:
        await session.run(lambda spark: write(spark, location))
        before = await session.run(started_tasks)
        result = await vacuumed(executor, location, retain_hours="0", force="true")
        started = await session.run(started_tasks) - before
    assert result.files_deleted == FILES
    assert started < MOST
