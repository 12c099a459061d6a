"""Makes guessing slow for who guesses, and cheap for the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

_DELAY_SECONDS = 1.0
_CAPACITY = 256


class Penalty:
    """Lets refusals wait; who proves itself never waits, whatever others do.

    Args:
        sleep: Waits for seconds.
        capacity: How many refusals wait at once, so that a flood of guesses holds little memory.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        capacity: int = _CAPACITY,
    ) -> None:
        self._sleep = sleep
        self._free = capacity

    async def serve(self) -> bool:
        """Wait, where there is room for one more to wait; else tell so at once, by `False`."""
        if self._free == 0:
            return False
        self._free -= 1
        try:
            await self._sleep(_DELAY_SECONDS)
        finally:
            self._free += 1
        return True
