"""Health checks: whether a process is alive, and whether it can serve requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sluicegate.http.responses import json_response

LIVE = "/livez"
READY = "/readyz"
READY_BEFORE = "/healthz"  # the name of `/readyz` before there were two checks
HEALTH_PATHS = frozenset({LIVE, READY, READY_BEFORE})


def health_routes(check: Callable[[], Awaitable[None]]) -> list[BaseRoute]:
    """Routes of the health checks, which need no token.

    Args:
        check: Returns if the application can serve. Otherwise, raises the error for the response.
    """

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
