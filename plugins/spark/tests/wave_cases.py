"""Waves run on the parts of a list, and stop when they are cancelled.

`test_engine.py` runs these tests in a separate process, like `engine_cases.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import psutil
import pyarrow as pa
import pytest
import pytest_asyncio

from sluicegate.api import TaskFailed
from sluicegate_spark.cluster import cores_of
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.maintenance.progress import finished_tasks
from sluicegate_spark.purge import wave_rule
from sluicegate_spark.purge.deletion import Deletion
from sluicegate_spark.purge.sorted_files import PATH, SortedFiles, paths_in
from sluicegate_spark.purge.waves import Listed, Waves
from sluicegate_testing.executors import RecordedRun

from .spark_requirements import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATHS = [f"s3://lake/é/{number:03}" for number in range(150)]


class NoAccess:
    """A table whose objects are not opened."""

    granted = None

    async def objects(self) -> None:
        """Return nothing, because nothing opens them."""


@pytest_asyncio.fixture
async def files(session: TaskSession, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SortedFiles]:
    """A list of 150 files, of which some are listed twice, in parts of about twenty."""
    monkeypatch.setattr(wave_rule, "BATCH", 10)
    access: Any = NoAccess()
    async with Waves.within(session, access) as waves:
        twice = await session.run(lambda spark: frame(spark, PATHS[:40]))
        yield await waves.sort(Listed([twice], 40), PATHS[::-1])


def frame(spark: SparkSession, paths: list[str]) -> Any:
    return spark.createDataFrame(pa.table({"path": paths}), PATH)


async def test_files_are_distinct_and_sorted_by_part(session: TaskSession, files: SortedFiles) -> None:
    assert (files.files, files.parts) == (len(PATHS), 8)

    def paths(spark: SparkSession) -> list[str]:
        return [row["path"] for row in files.process(range(files.parts), paths_in, PATH)]

    assert await session.run(paths) == PATHS


async def test_a_wave_has_a_spark_task_for_each_of_its_parts_and_no_other(
    session: TaskSession, files: SortedFiles
) -> None:
    def unchanged(batches: Any) -> Iterator[pa.RecordBatch]:
        yield from batches

    def tasks_and_parts(spark: SparkSession) -> tuple[int, set[int]]:
        before, _ = finished_tasks(spark)
        rows = files.process([3, 4, 6], unchanged, "path string, part int")
        return finished_tasks(spark)[0] - before, {row["part"] for row in rows}

    assert await session.run(tasks_and_parts) == (3, {3, 4, 6})


async def test_no_wave_begins_without_the_lease(
    session: TaskSession, files: SortedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker was suspended between the first wave and the second one."""
    run, begun = RecordedRun(lost_after=1), list[list[int]]()
    outcome = {"after": PATHS[-1], "finished": True, **asdict(Deletion(seen=10, deleted=10))}

    def process(_: SortedFiles, numbers: list[int], *__: Any) -> list[Any]:
        begun.append(numbers)
        return [tuple({"part": number, **outcome}.values()) for number in numbers]

    monkeypatch.setattr(SortedFiles, "process", process)
    monkeypatch.setattr(wave_rule, "_ROUNDS", 1)
    access: Any = NoAccess()
    waves = Waves(session, access, check_lease=run.check_lease)
    with pytest.raises(TaskFailed, match="the lease was lost"):
        await waves.delete(files, lambda _: None)
    assert (begun, run.checks) == ([[0, 1]], 2)


async def test_cores_are_known(session: TaskSession) -> None:
    assert await session.run(cores_of) == int(SETTINGS["spark.default.parallelism"])


async def test_a_cancelled_wave_ends_its_processes(
    session: TaskSession, files: SortedFiles, tmp_path: Path
) -> None:
    def delete_forever(batches: Any) -> Iterator[pa.RecordBatch]:
        (tmp_path / f"{os.getpid()}.pid").touch()
        while True:
            time.sleep(0.1)
            yield from ()

    def pids() -> list[int]:
        return [int(each.stem) for each in tmp_path.glob("*.pid")]

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(
                session.run, lambda spark: files.process(range(files.parts), delete_forever, PATH)
            )
            while len(pids()) < 2:  # noqa: ASYNC110 (other processes)
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        while any(map(psutil.pid_exists, pids())):  # noqa: ASYNC110 (other processes)
            await anyio.sleep(0.05)
    assert len(pids()) == 2, "more Spark tasks started"
