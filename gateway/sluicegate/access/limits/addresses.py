"""Limits the requests of client addresses, before they are authenticated."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sluicegate.access.limits.bucket import Rate, TokenBuckets
from sluicegate.access.limits.refusals import too_many_at_once, too_many_requests
from sluicegate.api.errors import RateLimited, SluicegateError
from sluicegate.http.connections import network_of
from sluicegate.http.health import HEALTH_PATHS
from sluicegate.http.responses import log_error

# Buckets of about 300 bytes. Who sends from more addresses than this is not limited by addresses.
ADDRESSES = 20_000


class AddressLimit:
    """ASGI middleware that refuses the requests of an address that sends too many.

    IPv6 addresses are counted by their /64. Health checks are always served.
    """

    def __init__(
        self,
        app: ASGIApp,
        refuse: Callable[[str, SluicegateError], Response],
        *,
        rate: Rate | None = None,
        concurrent: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._refuse = refuse
        self._rate = rate
        self._concurrent = sys.maxsize if concurrent is None else concurrent
        self._inside: dict[str, int] = {}
        self.buckets: TokenBuckets[str] = TokenBuckets(ADDRESSES, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope; only HTTP requests are counted."""
        if scope["type"] != "http" or scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        address = address_key(client[0] if client else "")
        try:
            self._enter(address)
        except RateLimited as error:
            log_error(error)
            await self._refuse(scope["path"], error)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._leave(address)

    def _enter(self, address: str) -> None:
        inside = self._inside.get(address, 0)
        if inside >= self._concurrent:
            raise too_many_at_once(inside)
        if self._rate is not None and (seconds := self.buckets.take(address, self._rate)):
            raise too_many_requests("your address", self._rate, seconds)
        self._inside[address] = inside + 1

    def _leave(self, address: str) -> None:
        left = self._inside[address] - 1
        if left:
            self._inside[address] = left
        else:
            del self._inside[address]


def address_key(host: str) -> str:
    """What counts as one address: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        return network_of(host)
    except ValueError:  # the peer of a Unix socket, or what a proxy has forwarded
        return host
