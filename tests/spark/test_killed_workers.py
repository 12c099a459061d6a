"""Workers are killed at random, at each stage of a purge: every task ends once, with its result.

`tox -e nightly` kills a hundred.

Source: Polaris delegation proposal, "Task Resiliency and Lease Management", "Order Of Deletion".
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import orjson
import psutil
import pytest
from support.gateways.iceberg_rest import WAREHOUSE
from support.process.random_cases import cases, times
from support.process.spark import require_spark
from support.servers.delegation import KEY, Desk, RunningClock
from support.servers.delegation_processes import delegation_process
from support.servers.postgres import PostgresServer
from support.servers.spark_connect import spark_connect
from support.tables.doomed_tables import DoomedTables, contents, doomed_tables
from support.tasks.forked_workers import Nursery
from support.tasks.killed_workers import Killings, connected, fates, killed_in_the_end
from support.tasks.spark_tasks import catalogs_of, executor_section, write_delegation
from support.tasks.worker_gates import PARTS, build_gates

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.seaweedfs import SeaweedFS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("killed_workers")]

AT_RECORDS, AFTER_RECORDS, ANYWHERE = cases(2), times() // 4, cases(5)
KILLS = len(PARTS) * AT_RECORDS + (len(PARTS) - 1) * AFTER_RECORDS + ANYWHERE
AT_ONCE = 4
TABLES = 4 + 4 * times()
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_SECONDS, _START_SECONDS = 1_800, 300
IMPATIENT: Mapping[str, Any] = {
    "lease": {"ttl": 5, "heartbeat": 1},
    "retry": {"max_attempts": 1000, "initial_backoff": 0},
    "max_running_per_realm": 1000,
    "worker": {"poll_interval": 1, "concurrency": 1},
    "encryption_keys": [KEY.decode()],
}
PATIENT = {**IMPATIENT, "worker": {**IMPATIENT["worker"], "drain_timeout": 180}}


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    require_spark()
    with SeaweedFS.start(tmp_path_factory.mktemp("store"), warehouse=WAREHOUSE) as running:
        keep_secret(running.admin.secret_access_key)
        yield running


async def submitted(store: Store, doomed: DoomedTables) -> list[str]:
    """Submit tasks that purge the tables, and return their ids in the same order."""
    queue = Desk(store, DelegationSettings(), RunningClock()).queue
    payloads = [TaskPayload.parse(orjson.dumps(each)) for each in doomed.payloads.values()]
    return [(await queue.submit(payload, "polaris")).id for payload in payloads]


async def ended(nursery: Nursery, store: Store, task_ids: list[str]) -> list[TaskRecord]:
    """Let a worker that is not killed finish the remaining tasks."""
    queue = Desk(store, DelegationSettings(), RunningClock()).queue
    with killed_in_the_end(nursery):
        while len(await queue.ended(task_ids)) < len(task_ids):  # noqa: ASYNC110 (other processes)
            await anyio.sleep(0.2)
    return [await queue.get(each) for each in task_ids]


async def check_history(store: Store, task: TaskRecord) -> None:
    """Check that a task has succeeded once, at its end, and that each attempt had a separate lease."""
    versions = await Desk(store, DelegationSettings(), RunningClock()).queue.history(task.id)
    assert [each.version for each in versions] == list(range(1, len(versions) + 1))
    statuses = [each.status for each in versions]
    assert statuses[-1] == task.status == "SUCCESS", task
    assert statuses.count("SUCCESS") == 1
    assert statuses.count("ACQUIRING_RESOURCES") == task.attempt_count
    for before, after in pairwise(versions):
        assert before.leased_by == after.leased_by or after.status == "ACQUIRING_RESOURCES"
    assert task.sealed is None


def python_of(worker: psutil.Process) -> list[psutil.Process]:
    """Return the Python processes that Spark started below a worker to list or delete files."""
    return [each for each in worker.children(recursive=True) if "pyspark.daemon" in words_of(each)]


def words_of(process: psutil.Process) -> list[str]:
    """Return the command of a process, or nothing if it has ended: Java can leave zombies for long."""
    with suppress(psutil.NoSuchProcess):
        return list(process.cmdline())
    return []


async def test_killed_workers_leave_no_file_and_take_no_other(
    server: SeaweedFS, postgres: PostgresServer, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    database, nursery = postgres.new_database(), Nursery(tmp_path)
    doomed = await anyio.to_thread.run_sync(doomed_tables, server, tmp_path, TABLES)
    plan = fates(
        random.Random(seed), at_records=AT_RECORDS, after_records=AFTER_RECORDS, anywhere=ANYWHERE
    )
    killings = Killings(nursery, database, plan)
    store = await Store.open(database)
    try:
        with spark_connect(tmp_path / "connect") as remote:
            executor = {
                "type": "spark",
                "remote": remote,
                "catalogs": catalogs_of(server),
                "endpoints": ["127.0.0.1"],
            }
            write_delegation(tmp_path, executor, database=database, **IMPATIENT)
            task_ids = await submitted(store, doomed)
            async with connected(database) as connection:
                await build_gates(connection)
                with anyio.fail_after(_SECONDS):
                    await killings.carry_out(AT_ONCE)
                    print(killings.tally)
                    tasks = await ended(nursery, store, task_ids)
                taken = await connection.fetch("SELECT lost_at, taken_at FROM takeovers")
        for task in tasks:
            await check_history(store, task)
    finally:
        await store.aclose()
    assert killings.tally.kills == KILLS
    assert all(killings.tally.at_records[part] >= AT_RECORDS for part in PARTS)
    assert taken
    assert all(each["lost_at"] <= each["taken_at"] for each in taken)
    assert contents(server) == doomed.beside
    counted = [(task.result or {})["files_deleted"] for task in tasks]
    had = list(doomed.files.values())
    print(f"{len(taken)} leases taken over, {sum(counted)} of {sum(had)} files counted")
    assert all(known <= files for known, files in zip(counted, had, strict=True))


async def spark_at_work(worker: psutil.Process) -> psutil.Process:
    """Wait until Python processes list or delete files for a worker, and return its JVM."""
    with anyio.fail_after(_START_SECONDS):
        while not python_of(worker):
            assert worker.is_running()
            await anyio.sleep(0.1)
    jvm = next(each for each in worker.children() if _SUBMIT in words_of(each))
    assert os.getsid(jvm.pid) == jvm.pid
    return jvm


async def test_spark_goes_on_while_its_signalled_worker_drains(
    server: SeaweedFS, tmp_path: Path
) -> None:
    write_delegation(tmp_path, executor_section(server, tmp_path, master="local[1]"), **PATIENT)
    doomed = await anyio.to_thread.run_sync(doomed_tables, server, tmp_path, 2)
    store = await Store.open(f"sqlite:///{tmp_path}/tasks.db")
    try:
        (first, _) = await submitted(store, doomed)
        with delegation_process(tmp_path, tmp_path, "worker") as running:
            worker = psutil.Process(running.process.pid)
            jvm = await spark_at_work(worker)
            # A shell or a supervisor signals the group, systemd every process of the service.
            os.killpg(worker.pid, signal.SIGTERM)
            jvm.terminate()
            assert await anyio.to_thread.run_sync(running.process.wait, 200) == 0, running.said()
            jvm.wait(timeout=60)
        task = await Desk(store, DelegationSettings(), RunningClock()).queue.get(first)
        assert (task.status, task.attempt_count) == ("SUCCESS", 1), running.said()
    finally:
        await store.aclose()


async def test_spark_ends_with_its_killed_worker(server: SeaweedFS, tmp_path: Path) -> None:
    write_delegation(tmp_path, executor_section(server, tmp_path, master="local[1]"), **IMPATIENT)
    doomed = await anyio.to_thread.run_sync(doomed_tables, server, tmp_path, 2)
    store = await Store.open(f"sqlite:///{tmp_path}/tasks.db")
    try:
        await submitted(store, doomed)
    finally:
        await store.aclose()
    with killed_in_the_end(Nursery(tmp_path)) as worker:
        alive = psutil.Process(worker.pid)
        await spark_at_work(alive)
        descendants = alive.children(recursive=True)
        worker.kill()
        _, left = psutil.wait_procs(descendants, timeout=60)
    assert [each for each in left if words_of(each)] == []
