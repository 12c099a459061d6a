"""Executors that block their thread or ignore a cancellation: leases are kept, and a stop stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest
from support.servers.delegation import Desk, payload
from support.tasks.signals import Signal

from sluicegate.api import DelegatedTask, TaskExecutor, TaskProgress, TaskResult, TaskRun
from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.records import TaskRecord

# Leases are the same statements on both databases.
pytestmark = pytest.mark.parametrize(
    "database_url",
    [
        "postgresql",
        pytest.param(
            "sqlite",
            marks=pytest.mark.night("test_heartbeats_go_on_while_an_executor_blocks_its_thread"),
        ),
    ],
    indirect=True,
)
SETTINGS = {"lease": {"heartbeat": 1, "ttl": 5}}


@dataclass
class Stuck(TaskExecutor):
    """Does not end until it is let go."""

    started: Signal = field(default_factory=Signal)
    go: Signal = field(default_factory=Signal)


class Blocking(Stuck):
    """Keeps its thread to itself."""

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Block."""
        self.started.set()
        self.go.block()
        return TaskResult("it has blocked")


class Swallowing(Stuck):
    """Goes on when it is cancelled."""

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Wait, whatever happens."""
        self.started.set()
        while not self.go.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return TaskResult("it has swallowed")


class Exiting(TaskExecutor):
    """Starts something that exits, and goes on itself."""

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Let another task of the event loop raise."""

        async def end() -> None:
            raise SystemExit(3)

        other = asyncio.create_task(end())
        await asyncio.wait([other])
        assert isinstance(other.exception(), SystemExit)
        return TaskResult("it goes on")


@asynccontextmanager
async def let_go(executor: Stuck) -> AsyncIterator[None]:
    """The executor ends with the block, in case a test fails, too."""
    try:
        with anyio.fail_after(60):
            yield
    finally:
        executor.go.set()


def stopping(desk: Desk, **worker: float) -> Desk:
    return replace(desk, settings=DelegationSettings.model_validate({**SETTINGS, "worker": worker}))


async def prolonged(desk: Desk, task_id: str, times: int = 2) -> None:
    """Wait until a lease has been prolonged so many times."""
    last = (await desk.queue.get(task_id)).due_at
    while times:
        task = await desk.queue.get(task_id)
        assert task.leased
        if task.due_at != last:
            last, times = task.due_at, times - 1
        await anyio.sleep(0.05)


async def test_heartbeats_go_on_while_an_executor_blocks_its_thread(desk: Desk) -> None:
    task, executor = await desk.queue.submit(payload(), "polaris"), Blocking()
    async with let_go(executor), desk.working(executor):
        await executor.started.wait()
        await prolonged(desk, task.id, times=6)  # longer than an unattended lease lives
        executor.go.set()
        ended = await desk.ended(task.id)
    assert (ended.status, ended.result_summary) == ("SUCCESS", "it has blocked")
    assert ended.attempt_count == 1


async def test_what_an_executor_starts_cannot_end_the_worker(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    tasks = [await desk.queue.submit(payload(name), "polaris") for name in ("T1", "T2")]
    async with desk.working(Exiting()):
        for task in tasks:
            assert (await desk.ended(task.id)).status == "SUCCESS"
    assert "an executor's task ended with SystemExit; others continue" in caplog.text


@pytest.mark.parametrize("kind", [Blocking, Swallowing])
async def test_a_stop_leaves_an_executor_that_does_not_end(desk: Desk, kind: type[Stuck]) -> None:
    impatient = stopping(desk, drain_timeout=0, cancel_timeout=1)
    task, executor = await impatient.queue.submit(payload(), "polaris"), kind()
    async with let_go(executor):
        async with impatient.working(executor) as worker:
            await executor.started.wait()
        assert worker.has_left
    stored = await desk.queue.get(task.id)
    assert (stored.status, stored.attempt_count) == ("RETRY_SCHEDULED", 0)


async def test_the_third_signal_leaves_an_executor_at_once(desk: Desk) -> None:
    patient = stopping(desk, drain_timeout=3600, cancel_timeout=3600)
    task, executor = await patient.queue.submit(payload(), "polaris"), Swallowing()
    async with let_go(executor), patient.working(executor) as worker:
        await executor.started.wait()
        for _ in range(3):
            worker.interrupted()
    assert (await desk.queue.get(task.id)).attempt_count == 0


class Away(Leases):
    """A database that is away whenever an end is to be recorded."""

    back = False

    async def succeed(
        self, task: TaskRecord, result: TaskResult, progress: TaskProgress | None = None
    ) -> TaskRecord:
        """Refuse, until it is back."""
        if not self.back:
            raise Unavailable("the database is away")
        return await super().succeed(task, result, progress)


async def test_heartbeats_go_on_until_the_end_is_recorded(desk: Desk) -> None:
    away = Away(desk.store, desk.settings, now=desk.clock.now)
    desk.leases = away
    task, executor = await desk.queue.submit(payload(), "polaris"), Swallowing()
    executor.go.set()
    async with desk.working(executor):
        await executor.started.wait()
        await prolonged(desk, task.id, times=6)
        away.back = True
        ended = await desk.ended(task.id)
    assert (ended.status, ended.attempt_count) == ("SUCCESS", 1)


async def test_a_stop_does_not_wait_for_a_database_that_stays_away(desk: Desk) -> None:
    impatient = stopping(desk, drain_timeout=0, cancel_timeout=0)
    impatient.leases = Away(desk.store, impatient.settings, now=desk.clock.now)
    task, executor = await impatient.queue.submit(payload(), "polaris"), Swallowing()
    executor.go.set()
    with anyio.fail_after(60):
        async with impatient.working(executor):
            await executor.started.wait()
    assert (await desk.queue.get(task.id)).leased
