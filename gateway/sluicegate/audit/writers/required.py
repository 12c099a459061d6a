"""The writer whose requests wait until their records are durable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from sluicegate.api.errors import SluicegateError, Unavailable
from sluicegate.audit.own_records import LogEntry
from sluicegate.audit.sinks.sink import Sink
from sluicegate.audit.writers.queue import CAPACITY, EntryQueue
from sluicegate.telemetry.metrics import measure_audit

log = logging.getLogger(__name__)

_MESSAGE = "the audit log can't be written; try again later"
_ENDING = "the gateway is shutting down"

# Seconds in which further records join a step, while fewer clients wait than before. A step of many
# records costs hardly more than a step of one (PostgreSQL does this with `commit_delay`).
_JOIN_SECONDS = 0.002

Done = asyncio.Future[None]


class RequiredWriter:
    """Writes to a sink while `writing` is entered. Requests fail while the sink can't be written."""

    def __init__(self, sink: Sink, *, capacity: int = CAPACITY) -> None:
        self._sink = sink
        self._queue: EntryQueue[Done] = EntryQueue(capacity)
        self._wake = asyncio.Event()
        self._wake_at = 1  # records that wait
        self._taken = asyncio.Event()
        self._senders = 0  # requests that waited at the end of the previous step
        self._refused = 0
        self._is_failing = False
        self._is_closing = False

    @property
    def has_space(self) -> bool:
        """Whether an entry can be submitted. Otherwise, `wait_for_space` waits."""
        return not self._queue.is_full

    async def wait_for_space(self) -> None:
        """Wait for one step of the writer, if there is no space."""
        while self._queue.is_full:
            self._taken.clear()
            await self._taken.wait()

    def submit(self, entry: LogEntry) -> Done:
        """Add an entry to the next step.

        Returns:
            A future that is done when the entry is durable. It raises `Unavailable` if the entry can't
            be written. If it is cancelled before the step, the entry isn't written.
        """
        done: Done = asyncio.get_running_loop().create_future()
        if self._is_closing:
            done.set_exception(Unavailable(_MESSAGE, detail=_ENDING))
        else:
            self._queue.put(entry, done)
            if len(self._queue) >= self._wake_at:
                self._wake.set()
        return done

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write until the block ends, and then the rest."""
        task = asyncio.create_task(self._run(), name=f"audit log: {self._sink.name}")
        try:
            yield
        finally:
            self._is_closing = True
            self._wake.set()
            try:
                await task
            finally:
                _fail(self._take_waiting(), _ENDING)

    async def _run(self) -> None:
        while self._queue or not self._is_closing:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                await self._join()
                await self._step()

    async def _join(self) -> None:
        """Wait until the clients that waited before have sent their next requests."""
        if len(self._queue) >= self._senders or self._is_closing:
            return
        self._wake_at = self._senders
        self._wake.clear()
        timer = asyncio.get_running_loop().call_later(_JOIN_SECONDS, self._wake.set)
        await self._wake.wait()
        timer.cancel()
        self._wake.clear()
        self._wake_at = 1

    async def _step(self) -> None:
        taken = [each for each in self._queue.take() if not each[1].done()]
        self._taken.set()
        if not taken:
            return
        started = time.perf_counter()
        try:
            await self._sink.append([entry for entry, _ in taken])
        except Exception as error:
            self._failed([done for _, done in taken], error)
            return
        except BaseException:
            _fail((done for _, done in taken), _ENDING)
            raise
        measure_audit(
            self._sink.name, len(taken), time.perf_counter() - started, waiting=len(self._queue)
        )
        self._senders = len(taken) + len(self._queue)
        for _, done in taken:
            if not done.done():
                done.set_result(None)
        if self._is_failing:
            self._recovered()

    def _failed(self, waiting: list[Done], error: Exception) -> None:
        expected = isinstance(error, SluicegateError)
        reason = error.for_operators if isinstance(error, SluicegateError) else type(error).__name__
        if not self._is_failing:
            self._is_failing = True
            log.error(
                "the audit log can't be written (%s), and requests are refused until it can: %s",
                self._sink.name,
                reason,
                exc_info=None if expected else error,
            )
        # Those that came during this step fail, too: no request waits for more than one attempt.
        refused = [*waiting, *self._take_waiting()]
        self._refused += len(refused)
        measure_audit(self._sink.name, len(refused), None, waiting=0)
        _fail(refused, reason)

    def _recovered(self) -> None:
        self._is_failing = False
        refused, self._refused = self._refused, 0
        log.warning(
            "the audit log can be written again (%s); %d requests were refused",
            self._sink.name,
            refused,
        )

    def _take_waiting(self) -> list[Done]:
        self._taken.set()
        return [done for _, done in self._queue.take_all()]


def _fail(waiting: Iterable[Done], reason: str) -> None:
    for done in waiting:
        if not done.done():
            done.set_exception(Unavailable(_MESSAGE, detail=reason))
