"""One attempt at a task: the executor runs, the lease is kept, and the end is recorded."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Literal, TypeVar, cast

import anyio

from sluicegate.clock import iso_utc
from sluicegate.delegation.executor_thread import ExecutorEnded, ExecutorThread
from sluicegate.delegation.failures import EXECUTOR_FAILED, Failure, failure_of, loggable
from sluicegate.delegation.leases import Beat, Leases
from sluicegate.delegation.patience import patiently
from sluicegate.delegation.queue import TaskQueue
from sluicegate.delegation.records import TaskRecord
from sluicegate.delegation.reports import (
    INVALID_RESULT,
    checked_progress,
    checked_result,
    checked_stages,
)
from sluicegate.delegation.sealing import Seal
from sluicegate.delegation.task_run import BridgedRun
from sluicegate.delegation.tasks import open_task
from sluicegate.delegation.transitions import TaskMovedOn
from sluicegate.errors import Unavailable
from sluicegate.executors import TaskExecutor, TaskFailed, TaskProgress, TaskResult, TaskRun
from sluicegate.store import StatementRefused

log = logging.getLogger(__name__)

T = TypeVar("T")
Stopped = Literal["lost", "cancelled", "drained"]
# How long a worker that has left its executors waits for the database: a transaction's time.
_LAST_SECONDS = 5.0
# How much later than an executor's child the worker may notice a signal that was sent to both.
_SIGNAL_SECONDS = 0.2
# Spark takes some 20 s to start, and cannot be cancelled meanwhile.
_STUCK_SECONDS = 60.0


class Attempt:
    """An attempt at a leased task; its executor's `TaskRun`, by way of `BridgedRun`.

    Args:
        task: Just leased.
        executor: Runs it.
        leases: Where the lease is kept.
        queue: Where renewed credentials are found.
        seal: Opens them.
        heartbeat: Seconds between signs of life.
        thread: Where the executor runs.
        draining: Set once the worker is being stopped.
    """

    def __init__(
        self,
        task: TaskRecord,
        executor: TaskExecutor,
        leases: Leases,
        queue: TaskQueue,
        seal: Seal,
        *,
        heartbeat: float,
        thread: ExecutorThread,
        draining: anyio.Event,
    ) -> None:
        self.task = task
        self._executor = executor
        self._leases = leases
        self._queue = queue
        self._seal = seal
        self._heartbeat = heartbeat
        self._thread = thread
        self._draining = draining
        self._stages = list(task.stages)
        self._progress: TaskProgress | None = None
        self._outcome: TaskResult | Failure | None = None
        self._stopped: Stopped | None = None
        self._stuck_at = math.inf
        self._scope = anyio.CancelScope()
        self._ending: anyio.CancelScope | None = None
        self._is_left = False
        self._recording = anyio.CancelScope(shield=True)
        # The version of `task` fences: a heartbeat must not be on its way while it changes.
        self._lock = anyio.Lock()

    def report(self, progress: TaskProgress) -> None:
        """Show how far the task is, with whatever is stored next.

        Raises:
            TaskFailed: It is not valid.
        """
        self._progress = checked_progress(progress)

    async def finish_stage(self, stage: str) -> None:
        """Store that a stage is finished, and what was reported last.

        Raises:
            TaskFailed: The lease is lost, or the name is not valid.
        """
        stages = checked_stages(self._stages, stage)

        async def store() -> bool:
            async with self._lock:
                if not self.task.leased:
                    return False
                return await self._leases.finish_stage(self.task, stages, self._progress)

        held = await patiently(store, f"{self.task}: a finished stage")
        self._stages = stages
        if not held:
            self.stop("lost")
            raise TaskFailed("the lease was lost", error_code="INTERNAL_ERROR", retryable=True)

    async def renewed_config(self) -> Mapping[str, str] | None:
        """The newest credentials that were handed over for the task."""
        return open_task(await self._stored("asking for newer credentials"), self._seal).config

    @property
    def outcome(self) -> str:
        """The state that a finished attempt led to, or `LOST`."""
        return "LOST" if self.task.leased else self.task.status

    def stop(self, why: Stopped) -> None:
        """Cancel the executor."""
        if self._stopped is None:
            self._stopped = why
            self._stuck_at = anyio.current_time() + _STUCK_SECONDS
        self._scope.cancel()

    def leave(self) -> None:
        """Wait no longer for an executor that was cancelled, and hardly any longer for the database.

        The worker is about to end, and with it what the executor still does.
        """
        self._is_left = True
        if self._ending is not None:
            self._ending.cancel()
        self._recording.deadline = anyio.current_time() + _LAST_SECONDS

    async def perform(self) -> None:
        """Run the task and record what became of it.

        The lease is kept until the end is recorded, also while an executor that was cancelled takes its
        time, and while the database is away.
        """
        log.info("%s: attempt %d begins", self.task, self.task.attempt_count)
        async with anyio.create_task_group() as group:
            group.start_soon(self._keep_lease)
            async with anyio.create_task_group() as calls:
                with self._scope:
                    self._outcome = await self._execute(BridgedRun(self, calls))
                calls.cancel_scope.cancel()
            with self._recording:
                await self._record()
            if self._recording.cancelled_caught:
                log.error("%s: its end is not recorded: the database does not answer", self.task)
            group.cancel_scope.cancel()

    async def _execute(self, run: TaskRun) -> TaskResult | Failure:
        try:
            task = open_task(self.task, self._seal)
            resources = await self._on_thread(lambda: self._executor.acquire(task))
            await self._move(self._leases.start)
            if self.task.status != "RUNNING":
                raise TaskMovedOn("the lease was lost")

            async def checked() -> TaskResult:
                return checked_result(await self._executor.run(task, resources, run))

            return await self._on_thread(checked)
        except TaskMovedOn:
            self.stop("lost")
            return failure_of(Unavailable("the lease was lost"))
        except ExecutorEnded as ended:
            failure = self._failed(ended.failure, ended.shown)
            if failure.retryable:
                with anyio.move_on_after(_SIGNAL_SECONDS):
                    await self._draining.wait()
            return failure
        except Exception as error:  # a stored task that cannot be opened, say: not the others' matter
            return self._failed(failure_of(error), loggable(error))

    async def _on_thread(self, work: Callable[[], Awaitable[T]]) -> T:
        """Let the executor do something; cancelled, this waits until the executor has ended."""
        call = self._thread.start(work)
        try:
            return cast("T", await call.result())  # `None` is what it returned, then
        except anyio.get_cancelled_exc_class():
            call.cancel()
            self._ending = anyio.CancelScope(shield=True)
            if self._is_left:
                self._ending.cancel()
            with self._ending:
                if (found := await call.result()) is not None:
                    return found
            raise

    def _failed(self, failure: Failure, shown: Exception) -> Failure:
        unforeseen = failure.error_code in ("INTERNAL_ERROR", EXECUTOR_FAILED)
        log.warning(
            "%s: attempt %d failed: %s: %s%s",
            self.task,
            self.task.attempt_count,
            failure.error_code,
            failure.message,
            "" if failure.detail is None else f" [{failure.detail}]",
            exc_info=shown if unforeseen else None,
        )
        return failure

    async def _keep_lease(self) -> None:
        while True:
            await anyio.sleep(self._heartbeat)
            try:
                with anyio.CancelScope(shield=True):
                    beat = await self._beat()
            except Unavailable as error:
                # The lease outlives many heartbeats; if it does not, the version will tell.
                log.warning("%s: no heartbeat: %s", self.task, error.detail or error.message)
                continue
            except StatementRefused as error:
                log.warning("%s: its progress cannot be stored: %s", self.task, error.for_operators)
                self._progress = None
                continue
            if beat != "held":
                self.stop(beat)
            self._warn_of_a_stuck_executor()

    def _warn_of_a_stuck_executor(self) -> None:
        if anyio.current_time() >= self._stuck_at:
            self._stuck_at = math.inf
            log.warning(
                "%s: its executor was cancelled %d s ago and has not ended; restart the worker",
                self.task,
                _STUCK_SECONDS,
            )

    async def _beat(self) -> Beat:
        async with self._lock:
            if not self.task.leased:  # its end was stored while this waited
                return "held"
            return await self._leases.beat(self.task, self._progress)

    async def _record(self) -> None:
        if self._stopped == "lost":
            log.warning("%s: the lease was lost; another worker has it", self.task)
            return
        try:
            await self._move(self._end)
        except TaskMovedOn:
            log.warning("%s: its end came too late: another worker has it", self.task)
            return
        except StatementRefused as error:
            await self._record_refusal(error)
        log.info("%s: %s", self.task, _became(self.task))

    async def _record_refusal(self, error: StatementRefused) -> None:
        """Record that the end cannot be recorded as it was reported."""
        log.warning("%s: its end cannot be stored: %s", self.task, error.for_operators)
        self._progress = None
        self._outcome = Failure(
            INVALID_RESULT, "the database refuses what the executor reported", False, error.detail
        )
        try:
            await self._move(self._end)
        except (StatementRefused, TaskMovedOn) as again:
            log.error("%s: its end is not recorded: %s", self.task, again.for_operators)

    async def _end(self, task: TaskRecord) -> TaskRecord:
        outcome = self._outcome
        if isinstance(outcome, TaskResult):
            # Also when it was to be stopped meanwhile: what is done is done.
            return await self._leases.succeed(task, outcome, self._progress)
        if self._stopped == "cancelled":
            return await self._leases.cancel(task, self._progress)
        if outcome is None or (outcome.retryable and self._draining.is_set()):
            # A failure may be the stop's own doing: its signal has ended the executor's processes.
            return await self._leases.give_back(task, self._progress)
        return await self._leases.fail(task, outcome, self._progress)

    async def _move(self, write: Callable[[TaskRecord], Awaitable[TaskRecord]]) -> None:
        """Store a transition of the task, however long the database is away.

        Raises:
            TaskMovedOn: The lease was lost.
        """

        async def store() -> None:
            with anyio.CancelScope(shield=True):
                async with self._lock:
                    self.task = await write(self.task)

        try:
            await patiently(store, str(self.task))
        except TaskMovedOn:
            stored = await self._stored("seeing what was stored")
            if not stored.follows(self.task):
                raise
            # It was stored, and the connection broke before the database could say so.
            self.task = stored

    async def _stored(self, what: str) -> TaskRecord:
        return await patiently(partial(self._queue.get, self.task.id), f"{self.task}: {what}")


def _became(task: TaskRecord) -> str:
    """The state that an attempt led to, and what there is to say about it."""
    if task.status == "SUCCESS":
        return f"SUCCESS: {task.result_summary}"
    if task.status == "RETRY_SCHEDULED" and task.due_at is not None:
        return f"RETRY_SCHEDULED for {iso_utc(task.due_at)}"
    return task.status
