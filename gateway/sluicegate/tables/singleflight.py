"""One run of a job for all who ask for it at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class SingleFlight(Generic[_T]):
    """Runs jobs by key: who asks while one runs gets its result, or its error.

    A job belongs to nobody who waits for it: when one of them is cancelled it goes on, for the others
    and for whoever asks next.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Task[_T]] = {}

    async def run(self, key: Hashable, job: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """The result of the job under way for this key, which is started if there is none."""
        return await asyncio.shield(self.start(key, job))

    def start(self, key: Hashable, job: Callable[[], Coroutine[Any, Any, _T]]) -> asyncio.Task[_T]:
        """The job under way for this key, which is started if there is none; nobody has to wait."""
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.create_task(job())
            self._flights[key] = flight
            flight.add_done_callback(lambda task: self._land(key, task))
        return flight

    async def aclose(self) -> None:
        """Cancel what still runs."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)

    def _land(self, key: Hashable, task: asyncio.Task[_T]) -> None:
        del self._flights[key]
        if not task.cancelled():
            task.exception()  # retrieved, also when nobody waits any more
