"""Runs one attempt at a task: runs the executor, keeps the lease, and records the outcome."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeVar, cast

import anyio

from sluicegate.api.delegation.issued import IssuedAccess
from sluicegate.api.delegation.reports import (
    INVALID_RESULT,
    checked_progress,
    checked_result,
    checked_stages,
)
from sluicegate.api.delegation.tasks import TaskExecutor, TaskFailed, TaskProgress, TaskResult, TaskRun
from sluicegate.api.errors import Unavailable
from sluicegate.database import StatementRefused
from sluicegate.delegation.queue.encryption import PayloadCipher, open_task
from sluicegate.delegation.queue.failures import EXECUTOR_FAILED, AttemptFailure, failure_of, loggable
from sluicegate.delegation.queue.leases import Beat, Leases
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.delegation.queue.transitions import TaskVersionConflict
from sluicegate.delegation.worker.database_retry import retry_until_available
from sluicegate.delegation.worker.executor_thread import ExecutorEnded, ExecutorThread
from sluicegate.delegation.worker.lease_deadline import LeaseDeadline
from sluicegate.delegation.worker.task_run import BridgedRun
from sluicegate.telemetry import span

log = logging.getLogger(__name__)

T = TypeVar("T")
Stopped = Literal["lost", "cut off", "cancelled", "drained"]
# Time that a worker that abandoned its executors waits for the database: one transaction.
_LAST_SECONDS = 5.0
# Tolerance if a signal is sent to an executor's child process and the worker: the worker may notice
# it later.
_SIGNAL_SECONDS = 0.2
# Spark takes about 20 s to start, and can't be canceled meanwhile.
_STUCK_SECONDS = 60.0


class Attempt:
    """An attempt at a leased task; its executor's `TaskRun`, through `BridgedRun`."""

    def __init__(
        self,
        task: TaskRecord,
        executor: TaskExecutor,
        leases: Leases,
        queue: TaskQueue,
        cipher: PayloadCipher,
        *,
        heartbeat: float,
        deadline: LeaseDeadline,
        thread: ExecutorThread,
        draining: anyio.Event,
    ) -> None:
        self.task = task
        self._executor = executor
        self._leases = leases
        self._queue = queue
        self._cipher = cipher
        self._heartbeat = heartbeat
        self._deadline = deadline
        self._thread = thread
        self._draining = draining
        self._stages = list(task.stages)
        self._progress: TaskProgress | None = None
        self._outcome: TaskResult | AttemptFailure | None = None
        self._stopped: Stopped | None = None
        self._stuck_at = math.inf
        self._scope = anyio.CancelScope()
        self._ending: anyio.CancelScope | None = None
        self._is_left = False
        self._recording = anyio.CancelScope(shield=True)
        # The version of `task` is the fencing token: no heartbeat may be in flight while it changes.
        self._lock = anyio.Lock()

    def report(self, progress: TaskProgress) -> None:
        """Report progress. It is stored with the next write."""
        self._progress = checked_progress(progress)

    async def finish_stage(self, stage: str) -> None:
        """Store a finished stage together with the latest progress."""
        stages = checked_stages(self._stages, stage)

        async def store() -> bool:
            async with self._lock:
                if not self.task.leased:
                    return False
                return await self._leases.finish_stage(self.task, stages, self._progress)

        held = await retry_until_available(store, f"{self.task}: a finished stage")
        self._stages = stages
        if not held:
            raise self._lost()

    async def check_lease(self) -> None:
        """Ensure that the lease is held; see `TaskRun.check_lease`."""
        beat = await retry_until_available(self._beat, f"{self.task}: checking its lease")
        if beat == "lost":
            raise self._lost()
        if beat == "cancelled":
            self.stop(beat)
            await anyio.sleep_forever()  # until the executor, which waits for it, has ended

    def _lost(self) -> TaskFailed:
        self.stop("lost")
        return TaskFailed("the lease was lost", error_code="INTERNAL_ERROR", retryable=True)

    async def renewed_config(self) -> Mapping[str, str] | None:
        """Return the newest credentials that were submitted for the task."""
        return open_task(await self._stored("asking for newer credentials"), self._cipher).config

    async def issued_access(
        self, since: int, after: tuple[int, str] | None, limit: int
    ) -> Sequence[IssuedAccess]:
        """Return entries of the ledger; see `TaskRun.issued_access`."""
        return await self._queue.issued_access(since, after, limit)

    @property
    def outcome(self) -> str:
        """Return the state to which the finished attempt led, or `LOST`."""
        return "LOST" if self.task.leased else self.task.status

    def stop(self, why: Stopped) -> None:
        """Cancel the executor."""
        if self._stopped is None:
            self._stopped = why
            self._stuck_at = anyio.current_time() + _STUCK_SECONDS
        self._scope.cancel()

    def leave(self) -> None:
        """Stop waiting for a canceled executor, and almost stop waiting for the database.

        The worker is about to exit, which also ends whatever the executor still does.
        """
        self._is_left = True
        if self._ending is not None:
            self._ending.cancel()
        self._recording.deadline = anyio.current_time() + _LAST_SECONDS

    async def perform(self) -> None:
        """Run the task and record the outcome.

        The lease is kept until the outcome is recorded, even while a canceled executor takes its
        time, and while the database is unavailable for less than the lease lasts.
        """
        log.info("%s: attempt %d begins", self.task, self.task.attempt_count)
        async with anyio.create_task_group() as group:
            group.start_soon(self._keep_lease)
            group.start_soon(self._stop_without_lease)
            async with anyio.create_task_group() as calls:
                with self._scope:
                    self._outcome = await self._execute(BridgedRun(self, calls))
                calls.cancel_scope.cancel()
            with self._recording:
                await self._record()
            if self._recording.cancelled_caught:
                log.error("%s: its outcome is not recorded: the database does not respond", self.task)
            group.cancel_scope.cancel()

    async def _execute(self, run: TaskRun) -> TaskResult | AttemptFailure:
        try:
            task = open_task(self.task, self._cipher)
            with span("task.acquire", operation=task.operation):
                resources = await self._on_thread(lambda: self._executor.acquire(task))
            await self._move(self._leases.start)
            if self.task.status != "RUNNING":
                raise TaskVersionConflict("the lease was lost")

            async def checked() -> TaskResult:
                return checked_result(await self._executor.run(task, resources, run))

            with span("task.run", operation=task.operation):
                return await self._on_thread(checked)
        except TaskVersionConflict:
            self.stop("lost")
            return failure_of(Unavailable("the lease was lost"))
        except ExecutorEnded as ended:
            failure = self._failed(ended.failure, ended.shown)
            if failure.retryable:
                with anyio.move_on_after(_SIGNAL_SECONDS):
                    await self._draining.wait()
            return failure
        except Exception as error:  # such as a task that can't be decrypted; others are not affected
            return self._failed(failure_of(error), loggable(error))

    async def _on_thread(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine of the executor. If canceled, this waits until the executor has ended."""
        call = self._thread.start(work)
        try:
            return cast("T", await call.result())  # `None` is a return value here
        except anyio.get_cancelled_exc_class():
            call.cancel()
            self._ending = anyio.CancelScope(shield=True)
            if self._is_left:
                self._ending.cancel()
            with self._ending:
                if (found := await call.result()) is not None:
                    return found
            raise

    def _failed(self, failure: AttemptFailure, shown: Exception) -> AttemptFailure:
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
                # The lease lasts for many heartbeats. If it is lost, the version reveals it.
                log.warning("%s: no heartbeat: %s", self.task, error.detail or error.message)
                continue
            except StatementRefused as error:
                log.warning("%s: its progress cannot be stored: %s", self.task, error.for_operators)
                self._progress = None
                continue
            if beat != "held":
                self.stop(beat)
            self._warn_of_a_stuck_executor()

    async def _stop_without_lease(self) -> None:
        """Cancel the executor when the lease has ended, because then another worker can have it."""
        await self._deadline.passed()
        log.warning("%s: stopped, because no heartbeat was stored during lease.ttl", self.task)
        self.stop("cut off")

    def _warn_of_a_stuck_executor(self) -> None:
        if anyio.current_time() >= self._stuck_at:
            self._stuck_at = math.inf
            log.warning(
                "%s: its executor was canceled %d s ago and has not ended; restart the worker",
                self.task,
                _STUCK_SECONDS,
            )

    async def _beat(self) -> Beat:
        async with self._lock:
            if not self.task.leased:  # its outcome was stored while this waited
                return "held"
            began = anyio.current_time()
            beat = await self._leases.beat(self.task, self._progress)
        if beat != "lost":
            self._deadline.prolonged(began)
        return beat

    async def _record(self) -> None:
        if self._stopped == "lost":
            log.warning("%s: the lease was lost; another worker has it", self.task)
            return
        try:
            with span("task.record", operation=self.task.operation):
                await self._move(self._end)
        except TaskVersionConflict:
            log.warning("%s: its outcome came too late: another worker has the task", self.task)
            return
        except StatementRefused as error:
            await self._record_refusal(error)
        log.info("%s: %s", self.task, self.task.outcome)

    async def _record_refusal(self, error: StatementRefused) -> None:
        """Record that the outcome can't be recorded as reported."""
        log.warning("%s: its outcome cannot be stored: %s", self.task, error.for_operators)
        self._progress = None
        self._outcome = AttemptFailure(
            INVALID_RESULT, "the database rejects the executor's report", False, error.detail
        )
        try:
            await self._move(self._end)
        except (StatementRefused, TaskVersionConflict) as again:
            log.error("%s: its outcome is not recorded: %s", self.task, again.for_operators)

    async def _end(self, task: TaskRecord) -> TaskRecord:
        outcome = self._outcome
        if isinstance(outcome, TaskResult):
            # Even if the task was to be stopped meanwhile: completed work counts.
            return await self._leases.succeed(task, outcome, self._progress)
        if self._stopped == "cancelled":
            return await self._leases.cancel(task, self._progress)
        if outcome is None or (outcome.retryable and self._draining.is_set()):
            # The stop itself might have caused the failure: its signal also ended the executor's
            # processes.
            return await self._leases.release(task, self._progress)
        return await self._leases.fail(task, outcome, self._progress)

    async def _move(self, write: Callable[[TaskRecord], Awaitable[TaskRecord]]) -> None:
        """Store a transition of the task. Retries while the database is unavailable."""

        async def store() -> None:
            with anyio.CancelScope(shield=True):
                async with self._lock:
                    self.task = await write(self.task)

        try:
            await retry_until_available(store, str(self.task))
        except TaskVersionConflict:
            stored = await self._stored("seeing what was stored")
            if not stored.follows(self.task):
                raise
            # It was stored, but the connection broke before the database could confirm it.
            self.task = stored

    async def _stored(self, what: str) -> TaskRecord:
        return await retry_until_available(
            partial(self._queue.get, self.task.id), f"{self.task}: {what}"
        )
