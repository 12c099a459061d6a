"""The thread of a worker's executors, with a dedicated event loop (ADR 26).

Executors are plugins. One that blocks its event loop, stops it with `SystemExit` or ignores
cancellation must not delay heartbeats and signals of the worker, which are on another loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from typing import Any, Generic, TypeVar, cast

import anyio

from sluicegate._util.tasks import cancel_all
from sluicegate.delegation.queue.failures import failure_of, loggable

log = logging.getLogger(__name__)

T = TypeVar("T")
_LAST_SECONDS = 2.0


class ExecutorEnded(Exception):
    """Work on the thread raised something, maybe not an `Exception`, or was canceled by someone else.

    Created where it was raised, because formatting an exception also runs the executor's code.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
        self.failure = failure_of(error)
        self.shown = loggable(error)


class Call(Generic[T]):
    """Work that runs on the thread, observed from the event loop that started it."""

    def __init__(self, work: Callable[[], Awaitable[T]], there: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._there = there
        self._scope = anyio.CancelScope()
        self._here = asyncio.get_running_loop()
        self._ended: asyncio.Future[T | None] = self._here.create_future()
        self.is_over = False
        # Log lines of the executor contain the ids of the task.
        there.call_soon_threadsafe(self._begin, context=copy_context())

    def cancel(self) -> None:
        """Cancel the work. It might end late, or never."""
        with suppress(RuntimeError):  # the thread has ended
            self._there.call_soon_threadsafe(self._scope.cancel)

    async def result(self) -> T | None:
        """Wait for the result; `None` if `cancel` canceled it. Can be called repeatedly."""
        return await asyncio.shield(self._ended)

    def _begin(self) -> None:
        self._running = self._there.create_task(self._run())

    async def _run(self) -> None:
        found: T | None = None
        raised: ExecutorEnded | None = None
        try:
            with self._scope:
                found = await self._work()
        except BaseException as error:  # SystemExit of an executor would end the thread
            raised = ExecutorEnded(error)
        self.is_over = True
        with suppress(RuntimeError):  # nothing waits any longer: the worker left
            self._here.call_soon_threadsafe(self._end, found, raised)

    def _end(self, found: T | None, raised: ExecutorEnded | None) -> None:
        if self._ended.done():
            return
        if raised is None:
            self._ended.set_result(found)
        else:
            self._ended.set_exception(raised)
            self._ended.exception()  # retrieve it, in case nothing waits


class ExecutorThread:
    """Runs coroutines of executors; `opened` starts and stops it."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._closed: Future[None] = Future()
        self._is_closing = False
        self._calls: set[Call[Any]] = set()
        self._thread = threading.Thread(target=self._work, name="executors", daemon=True)

    @classmethod
    @asynccontextmanager
    async def opened(cls, timeout: float) -> AsyncIterator[ExecutorThread]:
        """Return a running thread. If it doesn't end in time, it is abandoned."""
        thread = cls(timeout)
        thread._thread.start()
        try:
            yield thread
        finally:
            await thread._close()

    @property
    def is_left(self) -> bool:
        """Return whether it still runs although it was closed, because an executor doesn't end."""
        return self._is_closing and not self._closed.done()

    def start(self, work: Callable[[], Awaitable[T]]) -> Call[T]:
        """Start work on the thread. Call it from the event loop that waits for the result."""
        call = Call(work, self._loop)
        self._calls = {call, *(each for each in self._calls if not each.is_over)}
        return call

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work on the thread and return its result."""
        try:
            return cast("T", await self.start(work).result())  # nothing cancels it
        except ExecutorEnded as ended:
            raise ended.error from None

    async def finish(self, work: Callable[[], Awaitable[None]]) -> None:
        """Close the executors. Errors are logged, and work that doesn't end is abandoned."""
        call = self.start(work)
        with anyio.CancelScope(shield=True), anyio.move_on_after(self._grace_period):
            try:
                await call.result()
            except ExecutorEnded as ended:
                log.warning("an executor cannot be closed", exc_info=ended.shown)

    async def _close(self) -> None:
        timeout = self._grace_period
        self._loop.call_soon_threadsafe(self._closing.set)
        self._is_closing = True
        ended = asyncio.wrap_future(self._closed)
        with anyio.CancelScope(shield=True), anyio.move_on_after(timeout):
            await asyncio.shield(ended)
        if self.is_left:
            log.warning("an executor does not end; it is abandoned, and ends with the process")

    @property
    def _grace_period(self) -> float:
        """Return the remaining time: work that ignored its cancellation has already had its time."""
        is_stuck = any(not call.is_over for call in self._calls)
        return min(self._timeout, _LAST_SECONDS) if is_stuck else self._timeout

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._run_on(self._loop.create_task(self._until_closed()))
        self._run_on(self._loop.create_task(self._end_the_rest()))
        self._loop.close()
        self._closed.set_result(None)

    def _run_on(self, task: asyncio.Task[None]) -> None:
        """Run the event loop until a task is done, even if other tasks raise exceptions through it."""
        while not task.done():
            try:
                self._loop.run_until_complete(task)
            except BaseException as error:  # SystemExit of a task that an executor started
                log.error(
                    "an executor's task ended with %s; others continue",
                    type(error).__name__[:100],
                    exc_info=loggable(error),
                )

    async def _until_closed(self) -> None:
        await self._closing.wait()

    async def _end_the_rest(self) -> None:
        """Cancel remaining tasks, as `asyncio.run` does at its end."""
        await cancel_all(*(asyncio.all_tasks() - {asyncio.current_task()}))
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()
