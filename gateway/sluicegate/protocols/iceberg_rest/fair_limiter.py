"""Limits how many expensive steps run at the same time, and how many of them for one recipient."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio

from sluicegate.api import Unavailable


@dataclass
class _Recipient:
    turns: anyio.Semaphore
    requests: int = 0


class FairLimiter:
    """Lets requests wait for their turn, which takes little memory.

    No recipient gets all turns. Recipients who wait get them in the order of their requests.
    """

    def __init__(self, at_once: int, for_one: int, timeout: float, refusal: str) -> None:
        self._turns = anyio.Semaphore(at_once)
        self._for_one = for_one
        self._timeout = timeout
        self._refusal = refusal
        self._recipients: dict[str, _Recipient] = {}

    @property
    def recipients(self) -> int:
        """The number of recipients that have a turn or wait for one."""
        return len(self._recipients)

    @asynccontextmanager
    async def hold(self, recipient: str) -> AsyncIterator[None]:
        """Wait for a turn of a recipient, and return it at the end of the block."""
        with self._turns_of(recipient) as own:
            await self._acquire(own)
            try:
                yield
            finally:
                self._turns.release()
                own.release()

    async def _acquire(self, own: anyio.Semaphore) -> None:
        with anyio.move_on_after(self._timeout) as waiting:
            await own.acquire()
            try:
                await self._turns.acquire()
            except BaseException:
                own.release()
                raise
        if waiting.cancelled_caught:
            raise Unavailable(self._refusal)

    @contextmanager
    def _turns_of(self, recipient: str) -> Iterator[anyio.Semaphore]:
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
