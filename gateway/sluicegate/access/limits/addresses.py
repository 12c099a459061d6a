"""Limits the request rate of client addresses, before a request is authenticated."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sluicegate.access.limits.bucket import Rate, TokenBuckets
from sluicegate.access.limits.refusals import too_many_requests
from sluicegate.api.errors import SluicegateError
from sluicegate.http.connections import network_of
from sluicegate.http.health import HEALTH_PATHS
from sluicegate.http.responses import log_error

# Buckets of about 300 bytes. Who sends from more addresses than this is not limited by addresses.
ADDRESSES = 20_000


class AddressRateLimit:
    """ASGI middleware that refuses the requests of an address that sends too many.

    IPv6 addresses are counted by their /64. Health checks are always served.

    Args:
        app: The wrapped application.
        rate: The rate of each address.
        refuse: Builds the error response for a path, in the error format of that path's protocol.
        clock: Monotonic seconds.

    Attributes:
        buckets: The buckets of the addresses.
    """

    def __init__(
        self,
        app: ASGIApp,
        rate: Rate,
        refuse: Callable[[str, SluicegateError], Response],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._rate = rate
        self._refuse = refuse
        self.buckets: TokenBuckets[str] = TokenBuckets(ADDRESSES, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope; only HTTP requests are counted."""
        if scope["type"] == "http" and scope["path"] not in HEALTH_PATHS:
            client = scope.get("client")
            seconds = self.buckets.take(_network(client[0] if client else ""), self._rate)
            if seconds:
                error = too_many_requests("your address", "address_requests", self._rate, seconds)
                log_error(error)
                await self._refuse(scope["path"], error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _network(host: str) -> str:
    try:
        return network_of(host)
    except ValueError:  # the peer of a Unix socket, or what a proxy has forwarded
        return host
