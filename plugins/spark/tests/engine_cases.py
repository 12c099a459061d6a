"""An engine stops and restarts the Spark that it started, and no other.

`test_engine.py` runs these tests in a separate process: they stop Spark, and a process has only one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest
import pytest_asyncio

from sluicegate.api import SecretStr
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.engine import Engine

from .spark_requirements import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Started = Callable[[], Engine]


@pytest_asyncio.fixture
async def started(tmp_path: Path) -> AsyncIterator[Started]:
    """Return a function that creates engines, which are closed at the end."""
    conf = SETTINGS | {"spark.local.dir": str(tmp_path)}
    config = SparkConfig.model_validate({"master": "local[1]", "conf": conf})
    made: list[Engine] = []

    def started() -> Engine:
        made.append(Engine(config))
        return made[-1]

    yield started
    for engine in reversed(made):
        await engine.aclose()


async def ran(engine: Engine) -> SparkSession:
    """Run a query in a session, and return the session."""
    async with engine.session("t-1", {}) as session:
        assert await session.run(lambda spark: spark.range(3).count()) == 3
        return session.spark


async def test_spark_that_others_started_is_shared_and_goes_on(started: Started) -> None:
    first, second = started(), started()
    ours = await ran(first)
    ours.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    assert (await ran(second)).sparkContext is ours.sparkContext
    await second.aclose()
    assert ours.range(3).count() == 3
    assert ours.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"


@pytest.mark.parametrize("stopped_by", ["itself", "aclose", "its owner"])
async def test_spark_that_is_lost_starts_again(started: Started, stopped_by: str) -> None:
    owner, engine = started(), started()
    if stopped_by == "its owner":
        await ran(owner)
    lost = await ran(engine)
    if stopped_by == "itself":
        lost.sparkContext._jsc.sc().stop()
    else:
        await (owner if stopped_by == "its owner" else engine).aclose()
    assert (await ran(engine)).sparkContext is not lost.sparkContext


async def test_a_session_has_no_setting_of_another_task(started: Started) -> None:
    engine, name = started(), "spark.sql.catalog.task_credentials.s3.session-token"
    for conf, expected in (({name: SecretStr("of-one")}, "of-one"), ({}, None)):
        async with engine.session("t-1", conf) as session:
            assert await session.run(lambda spark: spark.conf.get(name, None)) == expected


async def test_a_setting_that_spark_warns_of_is_set_only_to_change_it(started: Started) -> None:
    engine, name = started(), "spark.sql.parser.escapedStringLiterals"
    for value, expected in (("true", "true"), ("false", None)):
        async with engine.session("t-1", {name: value}) as session:
            assert await session.run(lambda spark: spark.conf.get(name, None)) == expected


@pytest.mark.parametrize("planned_for", [0, 1])
async def test_a_job_is_stopped_also_where_it_begins_behind_the_cancellation(
    started: Started, planned_for: int
) -> None:
    planning, outcome = threading.Event(), list[str]()

    def work(spark: SparkSession) -> None:
        planning.set()
        time.sleep(planned_for)  # seconds; Spark plans for longer, where a table has many files
        try:
            spark.sql("SELECT count(*) FROM range(1000000000000)").collect()
            outcome.append("ran")
        except Exception as error:
            outcome.append("cancelled" if "cancel" in str(error).lower() else str(error))
            raise

    engine = started()
    async with engine.session("t-1", {}) as session, anyio.create_task_group() as group:
        group.start_soon(session.run, work)
        await anyio.to_thread.run_sync(planning.wait)
        group.cancel_scope.cancel()
    assert outcome == ["cancelled"]
