"""Reads request bodies, up to a limit."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import ClientDisconnect, Request
from starlette.routing import BaseRoute, Host, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.api.errors import MalformedRequest, PayloadTooLarge


async def read_body(request: Request, limit: int) -> bytes:
    """The entire body."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            _check_size(len(body), limit)
    except ClientDisconnect:
        raise MalformedRequest("the body ended before its announced length") from None
    return bytes(body)


def limit_bodies(routes: Sequence[BaseRoute], limit: int) -> Sequence[BaseRoute]:
    """Limit the bodies that routes can read, and return the routes.

    `PayloadTooLarge` is raised where a route reads beyond the limit.

    Args:
        routes: Routes that read bodies without a limit.
        limit: Maximum number of bytes.
    """
    for route in routes:
        if isinstance(route, Route | Mount | Host):
            route.app = _LimitedBodies(route.app, limit)
    return routes


class _LimitedBodies:
    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            _check_size(received, self._limit)
            return message

        await self._app(scope, limited if scope["type"] == "http" else receive, send)


def _check_size(received: int, limit: int) -> None:
    if received > limit:
        raise PayloadTooLarge(f"the body is larger than {limit} bytes")
