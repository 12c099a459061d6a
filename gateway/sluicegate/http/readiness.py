"""Whether an application can serve requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from sluicegate.api.errors import Unavailable
from sluicegate.telemetry import silence
from sluicegate.telemetry.metrics import gauge

_INTERVAL = 15.0  # seconds between measurements


class Readiness:
    """The state that `/readyz` reports: the application has started, and its database responds.

    An application that never calls `begin` is ready as soon as it is created.

    Args:
        check_database: Raises the error for the response if the database does not respond.
    """

    def __init__(self, check_database: Callable[[], Awaitable[None]]) -> None:
        self._check_database = check_database
        self._is_starting = False

    def begin(self) -> None:
        """Report that the application is not ready until `complete`."""
        self._is_starting = True
        gauge("sluicegate.ready", 0)

    def complete(self) -> None:
        """Report that the application has started."""
        self._is_starting = False

    async def check(self) -> None:
        """Return if the application is ready.

        Raises:
            Unavailable: It is still starting, or the database does not respond.
        """
        if self._is_starting:
            raise Unavailable("the gateway is starting and not ready yet; try again later")
        await self._check_database()

    async def measure(self) -> None:
        """Set the gauge of readiness regularly, until canceled."""
        while True:
            try:
                with silence():
                    await self.check()
            except Unavailable:
                gauge("sluicegate.ready", 0)
            else:
                gauge("sluicegate.ready", 1)
            await asyncio.sleep(_INTERVAL)
