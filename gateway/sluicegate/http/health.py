"""Health checks: whether a process is alive, and whether it can serve requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluicegate.api.errors import Unavailable
from sluicegate.http.responses import json_response
from sluicegate.telemetry import silence
from sluicegate.telemetry.metrics import gauge

LIVE = "/livez"
READY = "/readyz"
READY_BEFORE = "/healthz"  # the name of `/readyz` before there were two checks
HEALTH_PATHS = frozenset({LIVE, READY, READY_BEFORE})


def health_routes(check: Callable[[], Awaitable[None]]) -> list[BaseRoute]:
    """Routes of the health checks, which need no token."""

    async def live(request: Request) -> Response:
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:
        await check()
        return json_response({"status": "ok"})

    return [
        Route(LIVE, live, methods=["GET"]),
        Route(READY, ready, methods=["GET"]),
        Route(READY_BEFORE, ready, methods=["GET"]),
    ]


_INTERVAL = 15.0  # seconds between measurements


class Readiness:
    """The state that `/readyz` reports: the application has started, and its database responds.

    An application that never calls `begin` is ready as soon as it is created.
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
        """Return if the application is ready."""
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
