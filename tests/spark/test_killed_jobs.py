"""Jobs are killed at random moments: tables have the old or the new version, and the repeat ends right.

Runs at night (`tox -e nightly`). A job's worker is killed; at the end of each round, also its Spark.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import orjson
import psutil
import pytest
from spark.killed_jobs import JOBS, Job, Tables
from support.gateways.iceberg_rest import WAREHOUSE
from support.process.spark import SMALL_TABLES, jars, require_spark
from support.servers.delegation import KEY, Desk, RunningClock
from support.servers.postgres import PostgresServer
from support.servers.spark_connect import spark_connect
from support.tasks.forked_workers import LOG, Nursery
from support.tasks.killed_workers import killed_in_the_end
from support.tasks.spark_tasks import CATALOG, catalogs_of, write_delegation

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.delegation.queue.records import LEASED, TaskRecord
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate_spark.engine import EXTENSIONS
from sluicegate_spark.jvm.redaction import OF_STARTS
from sluicegate_spark.maintenance.catalog_settings import HTTP_CLIENT
from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.seaweedfs import SeaweedFS

KILLS = int(os.environ.get("SLUICEGATE_JOB_KILLS", "0"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("killed_jobs"),
    pytest.mark.skipif(KILLS == 0, reason="takes minutes: tox -e nightly sets SLUICEGATE_JOB_KILLS"),
]

KILLS_OF_ROUND = 6
_SECONDS, _LOOK_SECONDS = 2_400, 0.05
_FIRST_GUESS = 4.0  # seconds that a job takes
_CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_IMPATIENT: dict[str, Any] = {
    "lease": {"ttl": 5, "heartbeat": 1},
    "retry": {"max_attempts": 1000, "initial_backoff": 0},
    "worker": {"poll_interval": 1, "concurrency": 1},
    "encryption_keys": [KEY.decode()],
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SeaweedFS]:
    require_spark()
    with SeaweedFS.start(tmp_path / "store", warehouse=WAREHOUSE) as running:
        keep_secret(running.admin.secret_access_key)
        yield running


@contextmanager
def spark_server(folder: Path) -> Iterator[str]:
    """Serve Spark Connect with the jars of all jobs. The server may be killed meanwhile."""
    started = {
        **SMALL_TABLES,
        "spark.master": "local[2]",
        "spark.jars": ",".join(map(str, jars())),
        "spark.sql.extensions": ",".join(EXTENSIONS),
        **OF_STARTS,
    }
    with spark_connect(folder, started) as remote:
        yield remote


def kill_spark() -> None:
    """Kill the Spark Connect server, in the midst of whatever it does."""
    for child in psutil.Process().children():
        if _CONNECT_SERVER in child.cmdline():
            child.kill()


@dataclass(frozen=True)
class Killed:
    """A job that was killed, and is not repeated yet."""

    job: Job
    table: str
    task_id: str


@dataclass
class Killer:
    """Submits jobs, kills them, and lets them be repeated.

    Attributes:
        seconds: How long the last job of each operation took.
    """

    tables: Tables
    desk: Desk
    nursery: Nursery
    dice: random.Random
    jobs: list[Job]
    seconds: dict[str, float] = field(default_factory=dict)
    attempts: int = 0
    kills: Counter[str] = field(default_factory=Counter)

    async def carry_out(self, times: int) -> Killed | None:
        """Kill jobs, and let each be repeated. Spark is killed with the last one, which is returned."""
        for number in range(times):
            if not self.jobs:
                break
            is_last = number == times - 1
            killed = await self._kill(with_spark=is_last)
            if is_last:
                return killed
            if killed is not None:
                await self.repeat(killed)
        return None

    async def repeat(self, killed: Killed) -> None:
        """Let a worker that is not killed finish a task."""
        with killed_in_the_end(self.nursery):
            await self._until(killed.task_id, lambda task: task.attempt_count > 1 or task.ended)
            began = anyio.current_time()
            task = await self._until(killed.task_id, lambda task: task.ended)
        assert task.status == "SUCCESS", task
        self.seconds[killed.job.operation] = anyio.current_time() - began
        await self._check(killed.job.is_done, killed.table)

    async def _kill(self, *, with_spark: bool) -> Killed | None:
        """Start a job and kill it at a random moment; `None` if it had ended."""
        job, self.attempts = self.jobs[-1], self.attempts + 1
        table = f"t{self.attempts}_{job.operation.lower()}"
        document = await anyio.to_thread.run_sync(job.prepare, self.tables, table)
        payload = TaskPayload.parse(orjson.dumps(document))
        task_id = (await self.desk.queue.submit(payload, "polaris")).id
        longest = self.seconds.get(job.operation, _FIRST_GUESS)
        with killed_in_the_end(self.nursery) as worker:
            await self._until(task_id, lambda task: task.leased or task.ended)
            await anyio.sleep(self.dice.uniform(0, longest))
            if with_spark:
                kill_spark()
            worker.kill()
            worker.join()
        if (await self.desk.queue.get(task_id)).status not in LEASED:
            self.seconds[job.operation] = 0.8 * longest
            await self._check(job.is_done, table)
            return None
        await self._check(job.is_whole, table)
        self.jobs.pop()
        self.kills[job.operation] += 1
        return Killed(job, table, task_id)

    async def _check(self, condition: Callable[[Tables, str], bool], table: str) -> None:
        assert await anyio.to_thread.run_sync(condition, self.tables, table), table

    async def _until(self, task_id: str, condition: Callable[[TaskRecord], bool]) -> TaskRecord:
        while not condition(found := await self.desk.queue.get(task_id)):  # noqa: ASYNC110
            await anyio.sleep(_LOOK_SECONDS)  # other processes change it
        return found


@asynccontextmanager
async def desk_on(database: str) -> AsyncIterator[Desk]:
    """The queue of a database."""
    store = await Store.open(database)
    try:
        yield Desk(store, DelegationSettings(), RunningClock())
    finally:
        await store.aclose()


async def test_a_killed_job_leaves_the_old_or_the_new_version(
    server: SeaweedFS, postgres: PostgresServer, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice, database = random.Random(seed), postgres.new_database()
    tables = await anyio.to_thread.run_sync(Tables.of, server)
    jobs = [JOBS[number % len(JOBS)] for number in range(KILLS)]
    dice.shuffle(jobs)
    catalogs = {CATALOG: {**catalogs_of(server)[CATALOG], "credentials": "storage"}}
    section = {"type": "spark", "catalogs": catalogs, "endpoints": ["127.0.0.1"]}
    left: Killed | None = None
    async with desk_on(database) as desk:
        killer = Killer(tables, desk, Nursery(tmp_path), dice, jobs)
        with anyio.fail_after(_SECONDS):
            while killer.jobs or left is not None:
                with spark_server(tmp_path / f"connect-{killer.attempts}") as remote:
                    # The executor can't find out that the server lacks Iceberg's own choice.
                    executor = {**section, "remote": remote, "conf": {HTTP_CLIENT: "urlconnection"}}
                    write_delegation(tmp_path, executor, database=database, **_IMPATIENT)
                    if left is not None:
                        await killer.repeat(left)
                    left = await killer.carry_out(KILLS_OF_ROUND)
    print(dict(killer.kills), {name: round(each, 1) for name, each in killer.seconds.items()})
    assert killer.kills.total() == KILLS
    assert "Traceback" not in (tmp_path / LOG).read_text()
