"""Slows down attempts to guess client secrets, at low cost for the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

_DELAY_SECONDS = 1.0
_CAPACITY = 256


class FailedLoginThrottle:
    """Delays failed logins; successful ones are never delayed."""

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        capacity: int = _CAPACITY,
    ) -> None:
        self._sleep = sleep
        self._free = capacity

    async def delay(self) -> bool:
        """Wait, and return `True`. At capacity, return `False` immediately."""
        if self._free == 0:
            return False
        self._free -= 1
        try:
            await self._sleep(_DELAY_SECONDS)
        finally:
            self._free += 1
        return True
