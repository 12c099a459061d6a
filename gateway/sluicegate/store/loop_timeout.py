"""A timeout that a busy event loop does not use up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_TICK_SECONDS = 0.1


@asynccontextmanager
async def loop_timeout(seconds: float) -> AsyncIterator[None]:
    """Like `asyncio.timeout`, but by the time during which the event loop could take an answer.

    A loop that is busy for seconds finds an answer and the end of an ordinary timeout at once, and
    the timeout wins: what answered in a millisecond is blamed. Here such a stretch counts as one tick.

    Raises:
        TimeoutError: The block took longer.
    """
    async with asyncio.timeout(None) as scope:
        countdown = asyncio.create_task(_count_down(seconds, scope))
        try:
            yield
        finally:
            countdown.cancel()


async def _count_down(seconds: float, scope: asyncio.Timeout) -> None:
    for _ in range(max(round(seconds / _TICK_SECONDS), 1)):
        await asyncio.sleep(_TICK_SECONDS)
    scope.reschedule(0)  # long ago: at once
