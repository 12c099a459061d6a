"""What an attempt reported is known to the next one, however it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.servers.delegation import PURGE, Desk, RunningClock, Waiting, payload, transient

from sluicegate.api import DelegatedTask, TaskExecutor, TaskProgress, TaskResult, TaskRun
from sluicegate.delegation.queue.encryption import open_task
from sluicegate.delegation.queue.failures import AttemptFailure
from sluicegate.delegation.queue.records import TaskRecord

BUSY = AttemptFailure("STORAGE_FAILED", "the store is busy", retryable=True)
HALF = TaskProgress("content", 5, 10, 50)


async def fail(desk: Desk, task: TaskRecord) -> None:
    await desk.leases.fail(task, BUSY, HALF)


async def release(desk: Desk, task: TaskRecord) -> None:
    await desk.leases.release(task, HALF)


async def beat_and_be_lost(desk: Desk, task: TaskRecord) -> None:
    await desk.leases.beat(task, HALF)


async def finish_a_stage_and_be_lost(desk: Desk, task: TaskRecord) -> None:
    await desk.leases.finish_stage(task, ["content"], HALF)


async def report_and_fail_without_news(desk: Desk, task: TaskRecord) -> None:
    await desk.leases.beat(task, HALF)
    await desk.leases.fail(task, BUSY)


async def fail_for_good_and_be_tried_again(desk: Desk, task: TaskRecord) -> None:
    await desk.leases.fail(
        task, AttemptFailure("STORAGE_FAILED", "no such bucket", retryable=False), HALF
    )
    await desk.queue.retry(task.id)


ENDS: list[Callable[[Desk, TaskRecord], Awaitable[None]]] = [
    fail,
    release,
    beat_and_be_lost,
    finish_a_stage_and_be_lost,
    report_and_fail_without_news,
    fail_for_good_and_be_tried_again,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_the_next_attempt_knows_what_the_last_one_reported(
    desk: Desk, clock: RunningClock, end: Callable[[Desk, TaskRecord], Awaitable[None]]
) -> None:
    await desk.queue.submit(payload(), "polaris")
    first = await desk.leases.acquire("first", [PURGE])
    assert first is not None
    assert open_task(first, desk.cipher).progress is None
    await end(desk, first)
    clock.advance(3601)
    second = await desk.leases.acquire("second", [PURGE])
    assert second is not None
    assert open_task(second, desk.cipher).progress == HALF


class Counting(TaskExecutor):
    """Deals with three files an attempt, of ten, and counts those of all attempts."""

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Count on from where the last attempt was."""
        done = 0 if task.progress is None else task.progress.files_done
        for number in range(done + 1, min(done + 3, 10) + 1):
            run.report(TaskProgress("content", number, 10, number * 7))
        if done + 3 < 10:
            raise transient()
        return TaskResult("done", files_deleted=10, bytes_deleted=70)


async def test_an_executor_counts_over_all_attempts(desk: Desk, clock: RunningClock) -> None:
    task = await desk.queue.submit(payload(), "polaris")
    for done in (3, 6, 9, 10):
        async with desk.working(Counting()):
            while (stored := await desk.queue.get(task.id)).leased or stored.version == task.version:
                pass
        assert stored.progress == {
            "stage": "content",
            "files_done": done,
            "files_total": 10,
            "bytes_done": done * 7,
        }
        task = stored
        clock.advance(3601)
    assert task.status == "SUCCESS"


async def test_a_finished_stage_shows_progress_before_the_next_heartbeat(desk: Desk) -> None:
    class Staged(Waiting):
        async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
            run.report(HALF)
            await run.finish_stage("content")
            return await super().run(task, resources, run)

    executor = Staged()
    task = await desk.queue.submit(payload(), "polaris")
    async with desk.working(executor):
        await executor.started.wait()
        stored = await desk.queue.get(task.id)
        executor.go.set()
    assert (stored.stages, open_task(stored, desk.cipher).progress) == (("content",), HALF)
