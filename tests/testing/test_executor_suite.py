"""The suite for task executors passes for a good one, and fails for each fault that it looks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

import anyio.lowlevel
import pytest

from sluicegate.api import (
    DelegatedTask,
    TableIdentity,
    TaskExecutor,
    TaskFailed,
    TaskProgress,
    TaskResult,
    TaskRun,
)
from sluicegate_testing.executors import TaskExecutorBehaviour

TASK = DelegatedTask("t-1", "PURGE", "prod", TableIdentity("e-1", "lake", ("eu",), "orders"))
WRONG = DelegatedTask("t-2", "PURGE", "prod", TableIdentity("e-2", "lake", ("eu",), ""))


class Purge(TaskExecutor):
    """Deletes the numbers of two stages, and knows what earlier attempts counted."""

    def __init__(self) -> None:
        self.files = {"content": {1, 2, 3}, "metadata": {4}}

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        if not task.table.name:
            raise self.refusal()
        done = task.progress.files_done if task.progress else 0
        for stage, files in self.files.items():
            if stage in task.stages:
                continue
            done += len(files)
            self.delete(stage)
            run.report(TaskProgress(stage, done, self.total()))
            await self.finish(run, stage)
        return TaskResult("done", files_deleted=done)

    def delete(self, stage: str) -> None:
        self.files[stage] = set()

    def total(self) -> int:
        return 4

    def refusal(self) -> TaskFailed:
        return TaskFailed("no table", error_code="INVALID_PAYLOAD")

    async def finish(self, run: TaskRun, stage: str) -> None:
        await run.finish_stage(stage)


class TriesWrongPayloadsAgain(Purge):
    def refusal(self) -> TaskFailed:
        return TaskFailed("no table", error_code="INVALID_PAYLOAD", retryable=True)


class CountsBeyondTheTotal(Purge):
    def total(self) -> int:
        return 3


class CannotRunAgain(Purge):
    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        if task.stages:
            raise TaskFailed("the table is gone", error_code="STORAGE_FAILED")
        return await super().run(task, resources, run)


class CountsTwice(Purge):
    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        result = await super().run(task, resources, run)
        return TaskResult("done", files_deleted=(result.files_deleted or 0) * task.attempt)


class GoesOnWhenCancelled(Purge):
    async def finish(self, run: TaskRun, stage: str) -> None:
        with anyio.CancelScope(shield=True):
            await run.finish_stage(stage)


class SwallowsItsCancellation(Purge):
    async def finish(self, run: TaskRun, stage: str) -> None:
        with suppress(asyncio.CancelledError):
            await run.finish_stage(stage)


class CountsBelowNothing(Purge):
    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        await super().run(task, resources, run)
        return TaskResult("done", files_deleted=-1)


class ReturnsNothing(Purge):
    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        return cast("TaskResult", await super().acquire(task))


class ReportsWhatNoDatabaseStores(Purge):
    def total(self) -> int:
        return 2**63


class FinishesAStageThatNoDatabaseStores(Purge):
    async def finish(self, run: TaskRun, stage: str) -> None:
        await run.finish_stage(stage + "\0")


class TestPurge(TaskExecutorBehaviour):
    @pytest.fixture
    def executor(self) -> TaskExecutor:
        return Purge()

    @pytest.fixture
    def task(self) -> DelegatedTask:
        return TASK

    @pytest.fixture
    def wrong_task(self) -> DelegatedTask:
        return WRONG


SUITE = TaskExecutorBehaviour()
CANCELLED = SUITE.test_a_cancelled_attempt_stops_and_the_next_one_ends_the_task
Test = Callable[[TaskExecutor, DelegatedTask], Awaitable[None]]


@pytest.mark.parametrize(
    ("executor", "test", "task"),
    [
        (TriesWrongPayloadsAgain, SUITE.test_a_wrong_payload_is_terminal, WRONG),
        (CountsBeyondTheTotal, SUITE.test_progress_never_goes_back_or_beyond_its_total, TASK),
        (CannotRunAgain, SUITE.test_a_finished_task_is_safe_to_run_again, TASK),
        (CountsTwice, SUITE.test_a_finished_task_is_safe_to_run_again, TASK),
        (GoesOnWhenCancelled, partial(CANCELLED, stop_at="report"), TASK),
        (GoesOnWhenCancelled, partial(CANCELLED, stop_at="stage"), TASK),
        (SwallowsItsCancellation, partial(CANCELLED, stop_at="stage"), TASK),
        (CountsBelowNothing, SUITE.test_a_task_succeeds_and_says_what_it_did, TASK),
        (ReturnsNothing, SUITE.test_a_task_succeeds_and_says_what_it_did, TASK),
        (ReportsWhatNoDatabaseStores, SUITE.test_progress_never_goes_back_or_beyond_its_total, TASK),
        (FinishesAStageThatNoDatabaseStores, SUITE.test_a_finished_task_is_safe_to_run_again, TASK),
    ],
)
async def test_a_fault_is_caught(executor: type[Purge], test: Test, task: DelegatedTask) -> None:
    with pytest.raises((AssertionError, TaskFailed)):
        await test(executor(), task)
