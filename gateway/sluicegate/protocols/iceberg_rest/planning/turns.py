"""Limits how many expensive steps of plans run at the same time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

from sluicegate.api import Unavailable

T = TypeVar("T")

# A step needs a few hundred bytes for each file of a table, and threads delay the event loop.
_AT_ONCE = 4
_AT_ONCE_FOR_ONE = 2
_TIMEOUT = 60.0  # seconds; steps take seconds at most, and waiting takes little memory


@dataclass
class _Recipient:
    turns: anyio.Semaphore
    requests: int = field(default=0)


class PlanTurns:
    """Runs steps in worker threads, a few at a time, so that no recipient uses all threads.

    Args:
        at_once: Maximum number of concurrent steps.
        for_one: Maximum number of concurrent steps of one recipient.
        timeout: Seconds that a request waits for its turn.
    """

    def __init__(
        self, at_once: int = _AT_ONCE, for_one: int = _AT_ONCE_FOR_ONE, timeout: float = _TIMEOUT
    ) -> None:
        self._turns = anyio.Semaphore(at_once)
        self._for_one = for_one
        self._timeout = timeout
        self._recipients: dict[str, _Recipient] = {}

    @property
    def recipients(self) -> int:
        """The number of recipients that have requests."""
        return len(self._recipients)

    async def run(self, recipient: str, step: Callable[[], T]) -> T:
        """The result of a step.

        Args:
            recipient: The id of the recipient whose plan it is.
            step: Runs in a worker thread. What it raises is raised.

        Raises:
            Unavailable: Too many other steps are waiting or running.
        """
        async with self._waiting(recipient) as own:
            with anyio.move_on_after(self._timeout) as waiting:
                await own.acquire()
                try:
                    await self._turns.acquire()
                except BaseException:
                    own.release()
                    raise
            if waiting.cancelled_caught:
                raise Unavailable("too many scans are being planned; try again later")
            try:
                return await anyio.to_thread.run_sync(step)
            finally:
                self._turns.release()
                own.release()

    @asynccontextmanager
    async def _waiting(self, recipient: str) -> AsyncIterator[anyio.Semaphore]:
        """The turns of a recipient, which are kept while a request needs them."""
        known = self._recipients.get(recipient)
        if known is None:
            known = self._recipients[recipient] = _Recipient(anyio.Semaphore(self._for_one))
        known.requests += 1
        try:
            yield known.turns
        finally:
            known.requests -= 1
            if not known.requests:
                del self._recipients[recipient]
