"""A worker: leases tasks, runs several concurrently, and drains before it stops."""

from __future__ import annotations

import logging
import os
import random
import socket
import time
from collections.abc import Collection, Mapping
from uuid import uuid4

import anyio

from sluicegate.api.delegation.tasks import TaskExecutor
from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import StatementRefused
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.delegation.worker.attempt import Attempt
from sluicegate.delegation.worker.executor_thread import ExecutorThread
from sluicegate.delegation.worker.lease_deadline import LeaseDeadline
from sluicegate.telemetry import linked_span
from sluicegate.telemetry.context import RequestInfo, enter_request
from sluicegate.telemetry.metrics import measure_attempt

log = logging.getLogger(__name__)


class Worker:
    """Runs tasks until it is drained."""

    def __init__(
        self,
        executors: Mapping[str, TaskExecutor],
        leases: Leases,
        queue: TaskQueue,
        cipher: PayloadCipher,
        settings: DelegationSettings,
        thread: ExecutorThread,
    ) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._executors = executors
        self._leases = leases
        self._queue = queue
        self._cipher = cipher
        self._settings = settings
        self._thread = thread
        self._running: set[Attempt] = set()
        self._leasing = anyio.Lock()
        self._may_hold_more = False
        self._draining = anyio.Event()
        self._hurrying = anyio.Event()
        self._leaving = anyio.Event()

    @property
    def operations(self) -> Collection[str]:
        """Return the operations of its executors."""
        return self._executors.keys()

    @property
    def has_left(self) -> bool:
        """Return whether it was closed while an executor still ran.

        If so, end the process with `os._exit`.
        """
        return self._thread.is_left

    async def run(self) -> None:
        """Work until `drain` is called, and running tasks have ended or were released."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._stop_late)
            async with anyio.create_task_group() as slots:
                for _ in range(self._settings.worker.concurrency):
                    slots.start_soon(self._work)
            group.cancel_scope.cancel()

    def drain(self) -> None:
        """Stop leasing tasks. Running tasks have the drain timeout to complete."""
        if self._running and not self._draining.is_set():
            log.info(
                "worker %s takes no more tasks; its running tasks have %d s to finish: %s",
                self.name,
                self._settings.worker.drain_timeout,
                ", ".join(str(attempt.task) for attempt in self._running),
            )
        self._draining.set()

    def interrupted(self) -> None:
        """Handle a signal: the first drains, the second cancels tasks, the third abandons executors."""
        if self._hurrying.is_set():
            self._leaving.set()
        if self._draining.is_set():
            self._hurrying.set()
        self.drain()

    async def left(self) -> None:
        """Wait until executors that don't end are abandoned."""
        await self._leaving.wait()

    async def _stop_late(self) -> None:
        await self._draining.wait()
        with anyio.move_on_after(self._settings.worker.drain_timeout):
            await self._hurrying.wait()
        self._hurrying.set()
        for attempt in list(self._running):
            attempt.stop("drained")
        with anyio.move_on_after(self._settings.worker.cancel_timeout):
            await self._leaving.wait()
        self._leaving.set()
        for attempt in list(self._running):
            log.warning(
                "%s: it did not end after it was canceled; the worker abandons it", attempt.task
            )
            attempt.leave()

    async def _work(self) -> None:
        while not self._draining.is_set():
            attempt = await self._next()
            if attempt is None:
                await self._rest()
            else:
                await self._perform(attempt)

    async def _next(self) -> Attempt | None:
        async with self._leasing:
            began = anyio.current_time()
            try:
                task = await self._lease()
            except (Unavailable, StatementRefused) as error:
                # The connection might have broken after the commit: then a lease is held without
                # knowledge of it.
                self._may_hold_more = True
                log.warning("no task can be leased now: %s", error.detail or error.message)
                return None
            if task is None:
                return None
            attempt = Attempt(
                task,
                self._executors[task.operation],
                self._leases,
                self._queue,
                self._cipher,
                heartbeat=self._settings.lease.heartbeat,
                deadline=LeaseDeadline(self._settings.lease.ttl, began),
                thread=self._thread,
                draining=self._draining,
            )
            self._running.add(attempt)
            if self._hurrying.is_set():  # leasing it took longer than the time left to drain
                attempt.stop("drained")
            if self._leaving.is_set():
                attempt.leave()
            return attempt

    async def _lease(self) -> TaskRecord | None:
        if self._may_hold_more:
            await self._leases.release_others(self.name, [each.task.id for each in self._running])
            self._may_hold_more = False
        return await self._leases.acquire(self.name, self._executors.keys())

    async def _perform(self, attempt: Attempt) -> None:
        enter_request(RequestInfo(attempt.task.correlation_id or attempt.task.id))
        started = time.monotonic()
        with linked_span(
            "task.attempt",
            attempt.task.trace_context,
            operation=attempt.task.operation,
            attempt=attempt.task.attempt_count,
        ) as current:
            try:
                await attempt.perform()
            except Exception:  # unexpected; other tasks continue, and the lease expires
                log.exception("%s: the attempt was abandoned", attempt.task)
            finally:
                self._running.discard(attempt)
                current.set_attribute("outcome", attempt.outcome)
        measure_attempt(time.monotonic() - started, attempt.task.operation, attempt.outcome)

    async def _rest(self) -> None:
        """Sleep for slightly less than the interval, so that workers don't query simultaneously."""
        seconds = self._settings.worker.poll_interval * random.uniform(0.75, 1)  # noqa: S311 (jitter)
        with anyio.move_on_after(seconds):
            await self._draining.wait()
