"""Jobs that continue when a request stops waiting, so that the next request finds their result.

What a job contributes to audit records is in those of all requests that wait for it.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.timers import call_later
from sluicegate.audit.trail import Trail, in_trail, note_decision

_T = TypeVar("_T")

_KEPT_SECONDS = 60.0  # several polling intervals of clients; the Spark client's is 10 s
_MOST = 1_000  # a job and its outcome are small


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Run(Generic[_T]):
    """A job, and what its steps contributed."""

    task: asyncio.Task[_T]
    facts: Trail


class AsyncRuns(Generic[_T]):
    """Runs jobs by key, each in a separate task.

    Outcomes are cached for a while: a job that ends between two polls is not run again.

    Args:
        background: Runs the jobs.
    """

    def __init__(self, background: BackgroundJobs) -> None:
        self._background = background
        self._runs: dict[Hashable, _Run[_T]] = {}

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
        run = self._runs.get(key)
        if run is None or (run.task.done() and not kept):
            run = self._start(key, job)
        timeout = None if len(self._runs) > _MOST else seconds
        done, _ = await asyncio.wait([run.task], timeout=timeout)
        note_decision(run.facts)
        return run.task if done else None

    def _start(self, key: Hashable, job: Callable[[], Coroutine[Any, Any, _T]]) -> _Run[_T]:
        facts = Trail()

        async def recorded() -> _T:
            with in_trail(facts):
                return await job()

        run = self._runs[key] = _Run(self._background.start(recorded()), facts)
        run.task.add_done_callback(lambda _: self._ended(key, run))
        return run

    def _ended(self, key: Hashable, run: _Run[_T]) -> None:
        if not run.task.cancelled():
            run.task.exception()  # retrieve it even if no request waits for it
        call_later(_KEPT_SECONDS, self._forget, key, weakref.ref(run))

    def _forget(self, key: Hashable, run: weakref.ref[_Run[_T]]) -> None:
        if (ended := run()) is not None and self._runs.get(key) is ended:
            del self._runs[key]
