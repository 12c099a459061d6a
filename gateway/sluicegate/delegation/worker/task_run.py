"""Gives executors access to their attempt, which runs on another event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeVar

from anyio.abc import TaskGroup

from sluicegate.api.delegation.issued import IssuedAccess
from sluicegate.api.delegation.tasks import TaskFailed, TaskProgress, TaskRun

T = TypeVar("T")


class BridgedRun:
    """A `TaskRun` that calls another one on the event loop that created it."""

    def __init__(self, run: TaskRun, group: TaskGroup) -> None:
        self._run = run
        self._group = group
        self._loop = asyncio.get_running_loop()

    def report(self, progress: TaskProgress) -> None:
        """Report progress; see `TaskRun.report`."""
        self._run.report(progress)

    async def finish_stage(self, stage: str) -> None:
        """Store a finished stage; see `TaskRun.finish_stage`."""
        await self._there(lambda: self._run.finish_stage(stage))

    async def check_lease(self) -> None:
        """Ensure that the lease is held; see `TaskRun.check_lease`."""
        await self._there(self._run.check_lease)

    async def renewed_config(self) -> Mapping[str, str] | None:
        """Return the newest credentials; see `TaskRun.renewed_config`."""
        return await self._there(self._run.renewed_config)

    async def issued_access(
        self, since: int, after: tuple[int, str] | None, limit: int
    ) -> Sequence[IssuedAccess]:
        """Return entries of the ledger; see `TaskRun.issued_access`."""
        return await self._there(lambda: self._run.issued_access(since, after, limit))

    async def _there(self, call: Callable[[], Awaitable[T]]) -> T:
        future: Future[T] = Future()
        # The caller can be canceled, but a transaction that has begun runs to its end.
        future.set_running_or_notify_cancel()
        try:
            self._loop.call_soon_threadsafe(self._begin, call, future)
        except RuntimeError:
            raise _ended() from None
        return await asyncio.wrap_future(future)

    def _begin(self, call: Callable[[], Awaitable[T]], future: Future[T]) -> None:
        try:
            self._group.start_soon(_answer, call, future)
        except RuntimeError:  # the task group has ended
            future.set_exception(_ended())


async def _answer(call: Callable[[], Awaitable[T]], future: Future[T]) -> None:
    try:
        future.set_result(await call())
    except Exception as error:  # the executor handles it
        future.set_exception(error)
    except BaseException:
        future.set_exception(_ended())
        raise


def _ended() -> TaskFailed:
    message = "the attempt has ended already"
    return TaskFailed(message, error_code="INTERNAL_ERROR", retryable=True)
