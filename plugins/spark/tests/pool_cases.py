"""Tasks of one Spark divide its cores.

`test_engine.py` runs these tests in a separate process, like `engine_cases.py`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pyarrow as pa
import pytest_asyncio

from sluicegate_spark.config import SparkConfig
from sluicegate_spark.engine import Engine

from .spark_requirements import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_TASKS = 40


@pytest_asyncio.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """With two cores."""
    conf = SETTINGS | {"spark.local.dir": str(tmp_path)}
    engine = Engine(SparkConfig.model_validate({"master": "local[2]", "conf": conf}))
    yield engine
    await engine.aclose()


async def test_a_long_task_leaves_cores_to_others(engine: Engine, tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    def slow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begun.touch()
        for batch in batches:
            time.sleep(0.2)
            yield batch

    def quick(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return batches

    def short(spark: SparkSession) -> int:
        return len(spark.range(8, numPartitions=4).mapInArrow(quick, "id long").collect())

    def long(spark: SparkSession) -> None:
        spark.range(SPARK_TASKS, numPartitions=SPARK_TASKS).mapInArrow(slow, "id long").collect()
        ended.touch()

    async def run_long() -> None:
        async with engine.session("t-1", {}) as session:
            await session.run(long)

    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            group.start_soon(run_long)
            async with engine.session("t-2", {}) as session:
                while not await anyio.Path(begun).exists():  # noqa: ASYNC110 (another process)
                    await anyio.sleep(0.02)
                rows = await session.run(short)
                assert not ended.exists()
    assert rows == 8
    assert ended.exists()
