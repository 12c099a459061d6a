"""Tests for every task executor. Inherit the suite in the tests of your plugin.

class TestMyExecutor(TaskExecutorBehaviour):
    @pytest.fixture
    def executor(self) -> TaskExecutor: ...
    @pytest.fixture
    def task(self) -> DelegatedTask: ...
    @pytest.fixture
    def wrong_task(self) -> DelegatedTask: ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import anyio
import anyio.lowlevel
import pytest
import pytest_asyncio

from sluicegate.api import (
    DelegatedTask,
    IssuedAccess,
    TaskExecutor,
    TaskFailed,
    TaskProgress,
    TaskResult,
    checked_progress,
    checked_result,
    checked_stages,
)


@dataclass
class RecordedRun:
    """A `TaskRun` without a service, which records the reports of an executor.

    Like the service, it rejects invalid reports (`INVALID_RESULT`).

    Attributes:
        stages: Finished stages, including those of earlier attempts.
        reports: Reported progress, in order.
        renewed: The credentials of a repeated request.
        issued: The ledger.
        stop_at: When to cancel the attempt: at its first report, or when it finishes its first stage.
        checks: How often the executor checked its lease.
        lost_after: The number of these checks after which another worker has the task.
        scope: The cancel scope of the attempt.
        loop: The event loop of the scope.
    """

    stages: list[str] = field(default_factory=list)
    reports: list[TaskProgress] = field(default_factory=list)
    renewed: Mapping[str, str] | None = None
    issued: Sequence[IssuedAccess] = ()
    stop_at: Literal["report", "stage"] | None = None
    checks: int = 0
    lost_after: int | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, repr=False)

    def report(self, progress: TaskProgress) -> None:
        """Record progress, from any thread; see `TaskRun.report`."""
        self.reports.append(checked_progress(progress))
        if self.stop_at == "report":
            self.loop.call_soon_threadsafe(self.scope.cancel)

    async def finish_stage(self, stage: str) -> None:
        """Record a finished stage; see `TaskRun.finish_stage`."""
        self.stages[:] = checked_stages(self.stages, stage)
        if self.stop_at == "stage":
            self.scope.cancel()
        await anyio.lowlevel.checkpoint()

    async def check_lease(self) -> None:
        """Count the check; see `TaskRun.check_lease`."""
        self.checks += 1
        if self.lost_after is not None and self.checks > self.lost_after:
            raise TaskFailed("the lease was lost", error_code="INTERNAL_ERROR", retryable=True)
        await anyio.lowlevel.checkpoint()

    async def renewed_config(self) -> Mapping[str, str] | None:
        """See `TaskRun.renewed_config`."""
        return self.renewed

    async def issued_access(
        self, since: int, after: tuple[int, str] | None, limit: int
    ) -> Sequence[IssuedAccess]:
        """Return `issued` in pages; see `TaskRun.issued_access`."""
        rest = sorted(self.issued, key=lambda each: (each.given_at, each.id))
        found = [each for each in rest if each.given_at >= since]
        if after is not None:
            found = [each for each in found if (each.given_at, each.id) > after]
        return found[:limit]


@pytest.mark.asyncio
class TaskExecutorBehaviour:
    """Inherit it as `Test…`, and provide the fixtures `executor`, `task` and `wrong_task`."""

    @pytest.fixture
    def executor(self) -> TaskExecutor:
        """The executor under test; the suite closes it."""
        raise NotImplementedError("provide a fixture 'executor'")

    @pytest.fixture
    def task(self) -> DelegatedTask:
        """A task that succeeds, with a separate location for each test."""
        raise NotImplementedError("provide a fixture 'task'")

    @pytest.fixture
    def wrong_task(self) -> DelegatedTask:
        """A task that can never succeed, because its payload is not valid."""
        raise NotImplementedError("provide a fixture 'wrong_task'")

    @pytest_asyncio.fixture(autouse=True)
    async def _closed(self, executor: TaskExecutor) -> AsyncIterator[None]:
        yield
        await executor.aclose()

    async def test_a_task_succeeds_and_says_what_it_did(
        self, executor: TaskExecutor, task: DelegatedTask
    ) -> None:
        result = await attempt(executor, task, RecordedRun())
        assert result.summary

    async def test_progress_never_goes_back_or_beyond_its_total(
        self, executor: TaskExecutor, task: DelegatedTask
    ) -> None:
        run = RecordedRun()
        await attempt(executor, task, run)
        before = TaskProgress("")
        for progress in run.reports:
            assert before.files_done <= progress.files_done
            assert before.bytes_done <= progress.bytes_done
            assert progress.files_total is None or progress.files_done <= progress.files_total
            before = progress

    async def test_a_finished_task_is_safe_to_run_again(
        self, executor: TaskExecutor, task: DelegatedTask
    ) -> None:
        """The worker died before it could record the completion. Nothing is counted twice."""
        run = RecordedRun()
        first = await attempt(executor, task, run)
        again = await attempt(executor, resumed(task, run), RecordedRun(list(run.stages)))
        assert (again.files_deleted or 0) <= (first.files_deleted or 0)
        assert (again.bytes_deleted or 0) <= (first.bytes_deleted or 0)

    @pytest.mark.parametrize("stop_at", ["report", "stage"])
    async def test_a_cancelled_attempt_stops_and_the_next_one_ends_the_task(
        self, executor: TaskExecutor, task: DelegatedTask, stop_at: Literal["report", "stage"]
    ) -> None:
        run = RecordedRun(stop_at=stop_at)
        with run.scope:
            await attempt(executor, task, run)
        assert len(run.stages) <= 1, "it continued after it was cancelled"
        whole = RecordedRun(list(run.stages))
        await attempt(executor, resumed(task, run), whole)
        assert len(whole.stages) == len(set(whole.stages)), "a finished stage was repeated"

    async def test_a_wrong_payload_is_terminal(
        self, executor: TaskExecutor, wrong_task: DelegatedTask
    ) -> None:
        with pytest.raises(TaskFailed) as failed:
            await attempt(executor, wrong_task, RecordedRun())
        assert (failed.value.error_code, failed.value.retryable) == ("INVALID_PAYLOAD", False)


async def attempt(executor: TaskExecutor, task: DelegatedTask, run: RecordedRun) -> TaskResult:
    """Run one attempt as a worker does.

    Raises:
        TaskFailed: The executor fails, or the service would reject its result (`INVALID_RESULT`).
    """
    return checked_result(await executor.run(task, await executor.acquire(task), run))


def resumed(task: DelegatedTask, run: RecordedRun) -> DelegatedTask:
    """Return the task for the next attempt."""
    progress = run.reports[-1] if run.reports else None
    return replace(task, attempt=task.attempt + 1, stages=tuple(run.stages), progress=progress)
