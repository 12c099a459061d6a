"""A worker that is stopped: what it runs, and how soon it lets go."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest
from support.servers.delegation import Desk, base_of, payload
from support.tasks.signals import Signal

from sluicegate.api import ConfigurationError, DelegatedTask, TaskExecutor, TaskResult, TaskRun
from sluicegate.config.sections.delegation import DelegationSettings


@dataclass
class Unhurried(TaskExecutor):
    """Is told to stop, and takes its time, as Spark does while it starts."""

    started: Signal = field(default_factory=Signal)
    told: Signal = field(default_factory=Signal)
    go: Signal = field(default_factory=Signal)

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Wait, also when cancelled."""
        self.started.set()
        try:
            await anyio.sleep_forever()
            return TaskResult("nobody told it to stop")
        finally:
            self.told.set()
            with anyio.CancelScope(shield=True):
                await self.go.wait()


def settings(**worker: float) -> DelegationSettings:
    return DelegationSettings.model_validate(
        {"lease": {"heartbeat": 1, "ttl": 5}, "worker": {"poll_interval": 1, **worker}}
    )


async def prolonged(desk: Desk, task_id: str) -> None:
    """Wait until a task's lease ends later than it does now."""
    before = (await desk.queue.get(task_id)).due_at
    while True:
        now = (await desk.queue.get(task_id)).due_at
        if before is not None and now is not None and now > before:
            return
        await anyio.sleep(0.05)


async def test_a_lease_is_kept_until_a_stopping_executor_has_stopped(desk: Desk) -> None:
    stopping = replace(desk, settings=settings(drain_timeout=0))
    task = await stopping.queue.submit(payload(), "polaris")
    executor = Unhurried()
    with anyio.fail_after(20):
        async with stopping.working(executor) as worker:
            await executor.started.wait()
            worker.drain()
            await executor.told.wait()
            await prolonged(stopping, task.id)
            executor.go.set()
    assert await stopping.statuses(task.id) == [
        "SUBMITTED",
        "ACQUIRING_RESOURCES",
        "RUNNING",
        "RETRY_SCHEDULED",
    ]


async def test_a_second_signal_gives_back_what_is_running_at_once(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stopping = replace(desk, settings=settings(drain_timeout=3600))
    task = await stopping.queue.submit(payload(), "polaris")
    executor = Unhurried()
    executor.go.set()
    with anyio.fail_after(20):
        async with stopping.working(executor) as worker:
            await executor.started.wait()
            worker.interrupted()
            worker.interrupted()
    assert (await stopping.queue.get(task.id)).status == "RETRY_SCHEDULED"
    named = f"task {task.id} (TABLE_PURGE of prod_catalog.NS1.NESTED1.T1)"
    assert f"takes no more tasks; its running tasks have 3600 s to finish: {named}" in caplog.text
    assert f"{named}: attempt 1 begins" in caplog.text
    assert f"{named}: RETRY_SCHEDULED for " in caplog.text


async def test_a_worker_that_has_nothing_to_run_does_not_start(desk: Desk) -> None:
    base = base_of(desk, Unhurried())
    idle = replace(base, configured=replace(base.configured, executors=()))
    with pytest.raises(ConfigurationError, match=r"nothing to run: name an executor"):
        async with idle.worker():
            pass
