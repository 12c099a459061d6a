"""What an executor gets of its attempt: the executor is on its own event loop, the attempt is not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from anyio.abc import TaskGroup

from sluicegate.executors import TaskFailed, TaskProgress, TaskRun

T = TypeVar("T")


class BridgedRun:
    """A `TaskRun` that calls another one on the event loop that made it.

    Args:
        run: Is called there.
        group: Its tasks are these calls; once it is cancelled, they fail.
    """

    def __init__(self, run: TaskRun, group: TaskGroup) -> None:
        self._run = run
        self._group = group
        self._loop = asyncio.get_running_loop()

    def report(self, progress: TaskProgress) -> None:
        """Show how far the task is; see `TaskRun.report`."""
        self._run.report(progress)

    async def finish_stage(self, stage: str) -> None:
        """Store that a stage is finished; see `TaskRun.finish_stage`."""
        await self._there(lambda: self._run.finish_stage(stage))

    async def renewed_config(self) -> Mapping[str, str] | None:
        """The newest credentials; see `TaskRun.renewed_config`."""
        return await self._there(self._run.renewed_config)

    async def _there(self, call: Callable[[], Awaitable[T]]) -> T:
        future: Future[T] = Future()
        # Whoever waits may be cancelled; a transaction that has begun goes on to its end.
        future.set_running_or_notify_cancel()
        try:
            self._loop.call_soon_threadsafe(self._begin, call, future)
        except RuntimeError:
            raise _ended() from None
        return await asyncio.wrap_future(future)

    def _begin(self, call: Callable[[], Awaitable[T]], future: Future[T]) -> None:
        try:
            self._group.start_soon(_answer, call, future)
        except RuntimeError:  # the group has ended
            future.set_exception(_ended())


async def _answer(call: Callable[[], Awaitable[T]], future: Future[T]) -> None:
    try:
        future.set_result(await call())
    except Exception as error:  # it is the executor's to handle
        future.set_exception(error)
    except BaseException:
        future.set_exception(_ended())
        raise


def _ended() -> TaskFailed:
    message = "the attempt has ended already"
    return TaskFailed(message, error_code="INTERNAL_ERROR", retryable=True)
