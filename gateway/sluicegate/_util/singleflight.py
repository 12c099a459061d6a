"""Coalesces concurrent calls of the same job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from sluicegate._util.tasks import cancel_all

_T = TypeVar("_T")


class SingleFlight(Generic[_T]):
    """Runs one job for each key. Concurrent callers get the result, or the error, of the running job.

    If a caller is cancelled, the job continues for the others and for the next caller.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Task[_T]] = {}

    async def run(self, key: Hashable, job: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Return the result of the running job for this key. If none is running, start it."""
        return await asyncio.shield(self.start(key, job))

    def start(self, key: Hashable, job: Callable[[], Coroutine[Any, Any, _T]]) -> asyncio.Task[_T]:
        """Return the running job for this key, and start it if none is running. Doesn't wait."""
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.create_task(job())
            self._flights[key] = flight
            flight.add_done_callback(lambda task: self._land(key, task))
        return flight

    async def aclose(self) -> None:
        """Cancel all running jobs."""
        await cancel_all(*self._flights.values())

    def _land(self, key: Hashable, task: asyncio.Task[_T]) -> None:
        del self._flights[key]
        if not task.cancelled():
            task.exception()  # retrieve it, even if nothing waits for it
