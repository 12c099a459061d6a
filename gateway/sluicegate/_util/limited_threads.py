"""Worker threads for work that clients can make large."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

LARGE = 16_384
"""Bytes that take one or two milliseconds to parse. Threads take a tenth of that to start."""


class LimitedThreads:
    """Runs functions in worker threads, a few at a time.

    Each thread that runs Python code delays the event loop by up to 5 ms, whenever the loop needs the
    interpreter. Without a limit, the threads of many requests delay it for seconds.
    """

    def __init__(self, at_once: int) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function; what it raises is raised."""
        return await anyio.to_thread.run_sync(partial(function, *arguments), limiter=self._limiter)

    async def run_sized(self, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """The same, but in the event loop if the input has at most `LARGE` bytes."""
        return await self.run(function, *arguments) if size > LARGE else function(*arguments)
