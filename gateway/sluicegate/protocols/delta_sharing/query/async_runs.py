"""Jobs that continue when a request stops waiting, so that the next request finds their result."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.timers import call_later

_T = TypeVar("_T")

_KEPT_SECONDS = 60.0  # several polling intervals of clients; the Spark client's is 10 s
_MOST = 1_000  # a job and its outcome are small


class AsyncRuns(Generic[_T]):
    """Runs jobs by key, each in a separate task.

    Outcomes are cached for a while: a job that ends between two polls is not run again.

    Args:
        background: Runs the jobs.
    """

    def __init__(self, background: BackgroundJobs) -> None:
        self._background = background
        self._tasks: dict[Hashable, asyncio.Task[_T]] = {}

    async def wait(
        self,
        key: Hashable,
        job: Callable[[], Coroutine[Any, Any, _T]],
        seconds: float,
        *,
        kept: bool,
    ) -> asyncio.Task[_T] | None:
        """Wait for the job of a key, which is started if it is not running.

        Args:
            key: The job's key.
            job: Starts it.
            seconds: Maximum time to wait. The job continues after that.
            kept: Whether the outcome of a completed job is also acceptable.

        Returns:
            The task once it is done, or `None` if it still runs.
        """
        task = self._tasks.get(key)
        if task is None or (task.done() and not kept):
            task = self._start(key, job)
        done, _ = await asyncio.wait([task], timeout=None if len(self._tasks) > _MOST else seconds)
        return task if done else None

    def _start(self, key: Hashable, job: Callable[[], Coroutine[Any, Any, _T]]) -> asyncio.Task[_T]:
        task = self._tasks[key] = self._background.start(job())
        task.add_done_callback(lambda _: self._ended(key, task))
        return task

    def _ended(self, key: Hashable, task: asyncio.Task[_T]) -> None:
        if not task.cancelled():
            task.exception()  # retrieve it even if no request waits for it
        call_later(_KEPT_SECONDS, self._forget, key, weakref.ref(task))

    def _forget(self, key: Hashable, task: weakref.ref[asyncio.Task[_T]]) -> None:
        if (ended := task()) is not None and self._tasks.get(key) is ended:
            del self._tasks[key]
