"""COLLECT_USAGE in a process with its own Spark, which is killed at a random point."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import anyio
import psutil
import pytest
from support.process.spark import jars

from sluicegate.api import DelegatedTask, IssuedAccess, TableIdentity, TaskProgress, TaskResult
from sluicegate.database import Store
from sluicegate.vending.ledger_search import entries_from
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.usage import COLLECT_USAGE, log_stream
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.fakes import FakeContext

_STAGES = ("ledger", "logs", "days", "sums")
_FILES_PER_BATCH = 3
_LONGEST = 1.5  # seconds, in which most stages of small tables end
_PATIENCE = 300  # seconds


@dataclass
class LedgerRun(RecordedRun):
    """A run with the ledger of a gateway's database, which reports the stages."""

    store: Store | None = None
    stages_to: Connection | None = field(default=None, repr=False)

    def report(self, progress: TaskProgress) -> None:
        """Record progress, and report it to the process that kills this one."""
        super().report(progress)
        if self.stages_to is not None:
            self.stages_to.send(progress.stage)

    async def issued_access(
        self, since: int, after: tuple[int, str] | None, limit: int
    ) -> Sequence[IssuedAccess]:
        """Return entries of the ledger."""
        assert self.store is not None
        async with self.store.read() as connection:
            return await entries_from(connection, since, after, limit)


async def collect(executor: SparkExecutor, run: LedgerRun) -> TaskResult:
    """Run the operation once, with several batches even of few log files."""
    task = DelegatedTask("t", COLLECT_USAGE, "prod", TableIdentity("u", "usage", ("u",), "daily"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_stream, "FILES_PER_BATCH", _FILES_PER_BATCH)
        return await executor.run(task, await executor.acquire(task), run)


def kill_a_collection(section: Mapping[str, Any], database: str, dice: random.Random) -> str:
    """Start to collect usage, and kill the process, and with it Spark, at a random point.

    Returns:
        The stage in which it was killed. All of its processes have ended.
    """
    with_jars = {**section, "jars": str(jars()[0].parent)}
    longest = _LONGEST
    while True:
        wanted = dice.choice(_STAGES)
        reached = _killed_in(wanted, dice.uniform(0, longest), with_jars, database, dice)
        if reached is not None:
            return reached
        longest /= 2  # it had ended before


def _killed_in(
    wanted: str, delay: float, section: Mapping[str, Any], database: str, dice: random.Random
) -> str | None:
    context = multiprocessing.get_context("spawn")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(section, database, writing))
    process.start()
    writing.close()
    tree = psutil.Process(process.pid)
    reached = ""
    with suppress(EOFError):  # it ends before the stage
        while not reached.startswith(wanted):
            assert reading.poll(_PATIENCE), f"the collection hangs in '{reached}'"
            reached = str(reading.recv())
        time.sleep(delay)
    spark = tree.children(recursive=True) if tree.is_running() else []
    was_running = process.is_alive()
    # Spark also ends if only its worker is killed, but can finish what it does.
    for each in [tree, *(spark if dice.random() < 0.5 else ())]:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.join()
    _, left = psutil.wait_procs(spark, timeout=_PATIENCE)
    assert not left
    assert was_running or process.exitcode == 0, f"the collection failed in '{reached}'"
    return reached if was_running else None


def _work(section: Mapping[str, Any], database: str, stages_to: Connection) -> None:
    """Collect usage, as a worker does."""
    anyio.run(_collect, section, database, stages_to)


async def _collect(section: Mapping[str, Any], database: str, stages_to: Connection) -> None:
    executor = SparkExecutor.configured(SparkConfig.model_validate(section), FakeContext())
    store = await Store.open(database)
    try:
        await collect(executor, LedgerRun(store=store, stages_to=stages_to))
    finally:
        await store.aclose()
        await executor.aclose()
