"""The open connections of a server: limits in total and per address, and their timeouts.

When the server is full, it closes the connection that has waited longest for its client instead of
refusing a new one. Clients that open connections and send nothing therefore cannot lock out others.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from http import HTTPStatus
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from typing import Protocol

from sluicegate.api.errors import RateLimited, SluicegateError, Unavailable
from sluicegate.http.limits import HttpLimits
from sluicegate.http.responses import error_response


class HeadTooLarge(SluicegateError):
    """A request's line, headers, and trailers are too long (RFC 6585, section 5)."""

    status = 431
    code = "REQUEST_TOO_LARGE"


class RequestTooSlow(SluicegateError):
    """A request did not arrive in time (RFC 9110, section 15.5.9)."""

    status = 408
    code = "REQUEST_TIMEOUT"


def too_many_connections() -> SluicegateError:
    """The error for reaching the limit of all connections."""
    return Unavailable("the server has too many open connections; try again later")


def too_many_connections_of_address() -> SluicegateError:
    """The error for reaching the limit of one address's connections."""
    return RateLimited("your address has too many open connections; close some and try again")


def closing_response(error: SluicegateError) -> bytes:
    """A complete HTTP/1.1 response, after which the server closes the connection."""
    refusal = error_response(error)
    headers = [*refusal.raw_headers, (b"connection", b"close")]
    head = b"".join(b"%s: %s\r\n" % header for header in headers)
    phrase = HTTPStatus(error.status).phrase.encode()
    return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (error.status, phrase, head, refusal.body)


log = logging.getLogger(__name__)

_SWEEP_SECONDS = 1.0
_REPORT_SECONDS = 60.0
# A connection that was just opened, or just got a response, is not closed in favor of another: its
# request may already be in the kernel's buffer.
_EVICTABLE_AFTER_SECONDS = 1.0
# Connections that stay open so that a refused client can read the error. More close without it.
_MAX_REFUSED = 200


class Connection(Protocol):
    """The interface of a connection.

    Attributes:
        address: The address whose limit the connection counts for. `None` if it does not count.
    """

    address: str | None

    def sweep(self, now: float, elapsed: float) -> None:
        """Close or refuse the connection if it is overdue."""

    def evict(self) -> None:
        """Close at once, because another client needs the slot."""


class Connections:
    """Counts connections, and finds those that wait too long."""

    def __init__(self, limits: HttpLimits, proxies: Sequence[str], clock: Callable[[], float]) -> None:
        self.limits = limits
        self.clock = clock
        self._is_proxy = address_matcher(proxies)
        self._open: set[Connection] = set()
        self._refused: set[Connection] = set()
        self._of_address: Counter[str] = Counter()
        self._waiting: dict[Connection, float] = {}  # ordered by time
        self._refusals: Counter[str] = Counter()  # since the last log line
        self._is_empty = asyncio.Event()
        self.on_change: Callable[[], None] = lambda: None

    def admit(self, connection: Connection, host: str | None) -> SluicegateError | None:
        """Count a new connection, or return the error with which it is refused."""
        connection.address = None if host is None or self._is_proxy(host) else network_of(host)
        address = connection.address
        if address and self._of_address[address] >= self.limits.max_connections_per_address:
            return too_many_connections_of_address()
        if len(self._open) >= self.limits.max_connections and not self._evict_one():
            return too_many_connections()
        self._open.add(connection)
        self._is_empty.clear()
        if address:
            self._of_address[address] += 1
        self.waits(connection, self.clock())
        self.on_change()
        return None

    def __len__(self) -> int:
        """The number of open connections, without those that were refused."""
        return len(self._open)

    def count_refusal(self, reason: str) -> None:
        """Count a refusal that does not appear in the application's access log."""
        self._refusals[reason] += 1

    def linger(self, connection: Connection) -> bool:
        """Whether a refused connection can stay open until its client has read the error."""
        if len(self._refused) >= _MAX_REFUSED:
            return False
        self.forget(connection)
        self._refused.add(connection)
        return True

    def waits(self, connection: Connection, now: float) -> None:
        """Record that the connection waits for its client from `now` on."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = now

    def works(self, connection: Connection) -> None:
        """Record that a complete request has arrived: now the client waits."""
        self._waiting.pop(connection, None)

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._refused.discard(connection)
        self._waiting.pop(connection, None)
        if connection not in self._open:
            return
        self._open.discard(connection)
        if not self._open:
            self._is_empty.set()
        if connection.address:
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]
        self.on_change()

    async def until_empty(self) -> None:
        """Wait until no connection is open."""
        if self._open:
            await self._is_empty.wait()

    async def watch(self) -> None:
        """Look for overdue connections until canceled."""
        before = reported = self.clock()
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = self.clock()
            for connection in [*self._open, *self._refused]:
                connection.sweep(now, now - before)
            before = now
            if self._refusals and now - reported >= _REPORT_SECONDS:
                self._report()
                reported = now

    def _report(self) -> None:
        """Log one line for all refusals: a line each would let anyone fill the log."""
        counts = ", ".join(f"{number} x {reason}" for reason, number in self._refusals.most_common())
        log.warning("connections refused or closed recently: %s", counts)
        self._refusals.clear()

    def _evict_one(self) -> bool:
        for connection, since in self._waiting.items():
            if self.clock() - since < _EVICTABLE_AFTER_SECONDS:
                return False
            self.forget(connection)
            self.count_refusal("closed for others")
            connection.evict()
            return True
        return False


def network_of(host: str) -> str:
    """The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address."""
    address = ip_address(host.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, 64), strict=False))


def address_matcher(proxies: Sequence[str]) -> Callable[[str], bool]:
    """A function that returns whether an address matches one of these addresses or networks."""
    if "*" in proxies:
        return lambda host: True
    networks = []
    for each in proxies:
        try:
            networks.append(ip_network(each))
        except ValueError:
            continue  # a name for a Unix socket's peer, as uvicorn allows
    known = frozenset(proxies)

    def matches(host: str) -> bool:
        if host in known:
            return True
        address = ip_address(host.partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in networks)

    return matches
