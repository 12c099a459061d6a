"""A timeout that doesn't count the time for which the event loop is blocked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_TICK_SECONDS = 0.1


@asynccontextmanager
async def loop_timeout(seconds: float) -> AsyncIterator[None]:
    """Like `asyncio.timeout`, but counts only the time for which the event loop could take a response.

    A loop that was blocked for seconds finds a response and an expired timeout at the same time, and an
    ordinary timeout wins, although the response took a millisecond. Here, each such period counts as
    one tick.
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
