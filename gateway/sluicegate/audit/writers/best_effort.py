"""The writer whose requests don't wait. Records are lost if a sink can't be written for long."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import SluicegateError
from sluicegate.audit.own_records import LogEntry, gap
from sluicegate.audit.sinks.sink import Sink
from sluicegate.audit.writers.queue import CAPACITY, EntryQueue
from sluicegate.telemetry.metrics import measure_audit

log = logging.getLogger(__name__)

# Seconds between attempts while the sink can't be written.
_RETRY = 1.0


class BestEffortWriter:
    """Writes to a sink while `writing` is entered.

    While the sink can't be written, entries wait in memory. Without space for more, they are lost. When
    the sink can be written again, the chain gets a record of their number.
    """

    def __init__(self, sink: Sink, *, capacity: int = CAPACITY, retry: float = _RETRY) -> None:
        self._sink = sink
        self._retry = retry
        self._queue: EntryQueue[None] = EntryQueue(capacity)
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._is_failing = False
        self._lost = 0
        self._lost_since = 0

    def submit(self, entry: LogEntry) -> None:
        """Add an entry to the next step, or count it as lost if there is no space."""
        if self._queue.is_full or self._closing.is_set():
            self._lost_since = self._lost_since or entry.at
            self._lost += 1
            measure_audit(self._sink.name, 1, None, waiting=len(self._queue))
        else:
            self._queue.put(entry, None)
        self._changed.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write until the block ends, and then the rest."""
        task = asyncio.create_task(self._run(), name=f"audit log: {self._sink.name}")
        try:
            yield
        finally:
            self._closing.set()
            self._changed.set()
            try:
                await task
            finally:
                lost = self._lost + len(self._queue.take_all())
                if lost:
                    log.error("the audit log (%s) lost %d records", self._sink.name, lost)

    async def _run(self) -> None:
        while self._queue or not self._closing.is_set():
            await self._changed.wait()
            self._changed.clear()
            while self._queue or self._lost:
                if await self._step():
                    continue
                if self._closing.is_set():
                    return
                await self._pause()

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._retry):
                await self._closing.wait()

    async def _step(self) -> bool:
        """Write the next entries, and return whether this succeeded."""
        taken, lost = self._queue.take(), self._lost
        entries = [entry for entry, _ in taken]
        if lost:
            entries.insert(0, gap(lost, self._lost_since, epoch_ms()))
        started = time.perf_counter()
        written = False
        try:
            await self._sink.append(entries)
            written = True
        except Exception as error:
            self._failed(error)
        finally:
            if not written:
                self._queue.put_back(taken)
        if written:
            seconds = time.perf_counter() - started
            measure_audit(self._sink.name, len(taken), seconds, waiting=len(self._queue))
            self._succeeded(lost)
        return written

    def _failed(self, error: Exception) -> None:
        if self._is_failing:
            return
        self._is_failing = True
        expected = isinstance(error, SluicegateError)
        log.error(
            "the audit log can't be written (%s), and records will be lost if this takes long: %s",
            self._sink.name,
            error.for_operators if isinstance(error, SluicegateError) else type(error).__name__,
            exc_info=None if expected else error,
        )

    def _succeeded(self, lost: int) -> None:
        if self._is_failing or lost:
            log.warning(
                "the audit log can be written again (%s); %d records were lost", self._sink.name, lost
            )
        self._is_failing = False
        self._lost -= lost
        if not self._lost:
            self._lost_since = 0
