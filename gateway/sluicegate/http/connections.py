"""The open connections of a server: bounds in all and for each address, and their timeouts.

A server that is full closes the connection that has waited longest for its client instead of
refusing a new one, so that clients which open connections and stay silent keep nobody out.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from typing import Protocol

from sluicegate.errors import SluicegateError
from sluicegate.http.limits import HttpLimits
from sluicegate.http.refusals import too_many_connections, too_many_connections_of_address

log = logging.getLogger(__name__)

_SWEEP_SECONDS = 1.0
_REPORT_SECONDS = 60.0
# A connection that has just been opened, or answered, is not closed for another: its request may be
# in the kernel already.
_EVICTABLE_AFTER_SECONDS = 1.0
# Refused clients read their refusal meanwhile; more at once are closed without one.
_MAX_REFUSED = 200


class Connection(Protocol):
    """What a connection must offer.

    Attributes:
        address: Whose it is, for its bound; `None` when it does not count.
    """

    address: str | None

    def sweep(self, now: float, elapsed: float) -> None:
        """Close or refuse what is overdue."""

    def evict(self) -> None:
        """Close at once: another client needs the place."""


class Connections:
    """Counts connections, and finds those that wait too long.

    Args:
        limits: Bounds and timeouts.
        proxies: Addresses or networks that connect for others, whose bound they would exhaust.
        clock: Monotonic seconds.
    """

    def __init__(self, limits: HttpLimits, proxies: Sequence[str], clock: Callable[[], float]) -> None:
        self.limits = limits
        self.clock = clock
        self._is_proxy = _matcher(proxies)
        self._open: set[Connection] = set()
        self._refused: set[Connection] = set()
        self._of_address: Counter[str] = Counter()
        self._waiting: dict[Connection, float] = {}  # in the order of their times
        self._refusals: Counter[str] = Counter()  # since they were last logged

    def admit(self, connection: Connection, host: str | None) -> SluicegateError | None:
        """Count a new connection, or say why it is refused."""
        connection.address = None if host is None or self._is_proxy(host) else network_of(host)
        address = connection.address
        if address and self._of_address[address] >= self.limits.max_connections_per_address:
            return too_many_connections_of_address()
        if len(self._open) >= self.limits.max_connections and not self._evict_one():
            return too_many_connections()
        self._open.add(connection)
        if address:
            self._of_address[address] += 1
        self.waits(connection, self.clock())
        return None

    def count_refusal(self, reason: str) -> None:
        """Count what was refused without reaching the application's access log."""
        self._refusals[reason] += 1

    def linger(self, connection: Connection) -> bool:
        """Whether a refused connection may stay open until its client has read the refusal."""
        if len(self._refused) >= _MAX_REFUSED:
            return False
        self.forget(connection)
        self._refused.add(connection)
        return True

    def waits(self, connection: Connection, now: float) -> None:
        """The connection waits for its client from `now` on."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = now

    def works(self, connection: Connection) -> None:
        """A request has arrived to its end: now the client waits."""
        self._waiting.pop(connection, None)

    def forget(self, connection: Connection) -> None:
        """A connection ended."""
        self._refused.discard(connection)
        self._waiting.pop(connection, None)
        if connection not in self._open:
            return
        self._open.discard(connection)
        if connection.address:
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]

    async def watch(self) -> None:
        """Look for what is overdue until cancelled."""
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
        """One line for all refusals: a line for each would let strangers fill the log."""
        counts = ", ".join(f"{number} x {reason}" for reason, number in self._refusals.most_common())
        log.warning("connections refused or closed lately: %s", counts)
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
    """What one client holds: an IPv4 address, or the /64 of an IPv6 address."""
    address = ip_address(host.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, 64), strict=False))


def _matcher(proxies: Sequence[str]) -> Callable[[str], bool]:
    if "*" in proxies:
        return lambda host: True
    networks = []
    for each in proxies:
        try:
            networks.append(ip_network(each))
        except ValueError:
            continue  # a name of a Unix socket's peer, as uvicorn allows
    known = frozenset(proxies)

    def matches(host: str) -> bool:
        if host in known:
            return True
        address = ip_address(host.partition("%")[0])
        return any(address in network for network in networks)

    return matches
