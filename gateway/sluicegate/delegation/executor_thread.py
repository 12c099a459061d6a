"""The thread of a worker's executors, with an event loop for them alone (ADR 26).

Executors are plugins: one that blocks its event loop, ends it with `SystemExit` or ignores its
cancellation must not keep the worker from heartbeats and signals, which are on another loop.
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

from sluicegate.delegation.failures import failure_of, loggable

log = logging.getLogger(__name__)

T = TypeVar("T")
_LAST_SECONDS = 2.0


class ExecutorEnded(Exception):
    """What runs on the thread raised something, maybe no `Exception`, or was cancelled by nobody.

    Made where it was raised, for an exception's words are the executor's code, too.

    Attributes:
        error: What it raised.
        failure: What that means.
        shown: It as a log can show it.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
        self.failure = failure_of(error)
        self.shown = loggable(error)


class Call(Generic[T]):
    """Something that runs on the thread, seen from the event loop that started it.

    Args:
        work: What to run.
        there: The event loop of the thread.
    """

    def __init__(self, work: Callable[[], Awaitable[T]], there: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._there = there
        self._scope = anyio.CancelScope()
        self._here = asyncio.get_running_loop()
        self._ended: asyncio.Future[T | None] = self._here.create_future()
        self.is_over = False
        # Log lines of the executor carry the ids of the task.
        there.call_soon_threadsafe(self._begin, context=copy_context())

    def cancel(self) -> None:
        """Cancel it; it may take its time to end, or never end."""
        with suppress(RuntimeError):  # the thread has ended
            self._there.call_soon_threadsafe(self._scope.cancel)

    async def result(self) -> T | None:
        """What it returns, once it does; `None` if it was cancelled by `cancel`. Can be called again.

        Raises:
            ExecutorEnded: It raised something.
        """
        return await asyncio.shield(self._ended)

    def _begin(self) -> None:
        self._running = self._there.create_task(self._run())

    async def _run(self) -> None:
        found: T | None = None
        raised: ExecutorEnded | None = None
        try:
            with self._scope:
                found = await self._work()
        except BaseException as error:  # an executor's SystemExit would end the thread
            raised = ExecutorEnded(error)
        self.is_over = True
        with suppress(RuntimeError):  # nobody waits any more: the worker has left
            self._here.call_soon_threadsafe(self._end, found, raised)

    def _end(self, found: T | None, raised: ExecutorEnded | None) -> None:
        if self._ended.done():
            return
        if raised is None:
            self._ended.set_result(found)
        else:
            self._ended.set_exception(raised)
            self._ended.exception()  # nobody may be waiting


class ExecutorThread:
    """Runs what executors do; `opened` starts and ends it."""

    def __init__(self, patience: float) -> None:
        self._longest = patience
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._closed: Future[None] = Future()
        self._is_closing = False
        self._calls: set[Call[Any]] = set()
        self._thread = threading.Thread(target=self._work, name="executors", daemon=True)

    @classmethod
    @asynccontextmanager
    async def opened(cls, patience: float) -> AsyncIterator[ExecutorThread]:
        """A running thread, which is left behind if it does not end in time.

        Args:
            patience: Seconds to wait at the end for what is still running on it.
        """
        thread = cls(patience)
        thread._thread.start()
        try:
            yield thread
        finally:
            await thread._close()

    @property
    def is_left(self) -> bool:
        """Whether it still runs, although it was closed: an executor does not end."""
        return self._is_closing and not self._closed.done()

    def start(self, work: Callable[[], Awaitable[T]]) -> Call[T]:
        """Run something there; from the event loop that is to wait for it."""
        call = Call(work, self._loop)
        self._calls = {call, *(each for each in self._calls if not each.is_over)}
        return call

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something there and return what it returns.

        Raises:
            BaseException: What it raises.
        """
        try:
            return cast("T", await self.start(work).result())  # nobody cancels it
        except ExecutorEnded as ended:
            raise ended.error from None

    async def finish(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run what closes the executors; what it raises is logged, and what does not end is left."""
        call = self.start(work)
        with anyio.CancelScope(shield=True), anyio.move_on_after(self._patience):
            try:
                await call.result()
            except ExecutorEnded as ended:
                log.warning("an executor cannot be closed", exc_info=ended.shown)

    async def _close(self) -> None:
        patience = self._patience
        self._loop.call_soon_threadsafe(self._closing.set)
        self._is_closing = True
        ended = asyncio.wrap_future(self._closed)
        with anyio.CancelScope(shield=True), anyio.move_on_after(patience):
            await asyncio.shield(ended)
        if self.is_left:
            log.warning("an executor does not end; it is left behind, and ends with the process")

    @property
    def _patience(self) -> float:
        """What did not end when it was cancelled has had its time already."""
        is_stuck = any(not call.is_over for call in self._calls)
        return min(self._longest, _LAST_SECONDS) if is_stuck else self._longest

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._run_on(self._loop.create_task(self._until_closed()))
        self._run_on(self._loop.create_task(self._end_the_rest()))
        self._loop.close()
        self._closed.set_result(None)

    def _run_on(self, task: asyncio.Task[None]) -> None:
        """Run the event loop until a task has ended, whatever others raise through it."""
        while not task.done():
            try:
                self._loop.run_until_complete(task)
            except BaseException as error:  # SystemExit of a task that an executor has started
                log.error(
                    "an executor's task ended by %s; others go on",
                    type(error).__name__[:100],
                    exc_info=loggable(error),
                )

    async def _until_closed(self) -> None:
        await self._closing.wait()

    async def _end_the_rest(self) -> None:
        """Cancel what is still running, as `asyncio.run` does at its end."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()
