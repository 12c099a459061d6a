"""Limits of what clients may send and hold before anything is known about them."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_MAX_HEAD = 65_536
DEFAULT_HEAD_TIMEOUT = 30
DEFAULT_MIN_BODY_RATE = 1_000
DEFAULT_KEEP_ALIVE_TIMEOUT = 75
DEFAULT_MAX_CONNECTIONS = 2_000
DEFAULT_MAX_CONNECTIONS_PER_ADDRESS = 500
DEFAULT_MAX_REQUESTS = 500
DEFAULT_MAX_REQUESTS_PER_RECIPIENT = 100
DEFAULT_MAX_REQUESTS_PER_ADDRESS = 250
DEFAULT_QUEUE_TIMEOUT = 5


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of connections and requests, whoever sends them.

    Attributes:
        max_head: Bytes of a request's line, headers and trailers.
        head_timeout: Seconds until a request's head must be complete; also the time that any body has.
        min_body_rate: Bytes of a body that earn a further second.
        keep_alive_timeout: Seconds that a connection may stay open between two requests.
        max_connections: Open connections in all.
        max_connections_per_address: Open connections of one client; proxies are exempt.
    """

    max_head: int = DEFAULT_MAX_HEAD
    head_timeout: float = DEFAULT_HEAD_TIMEOUT
    min_body_rate: int = DEFAULT_MIN_BODY_RATE
    keep_alive_timeout: float = DEFAULT_KEEP_ALIVE_TIMEOUT
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    max_connections_per_address: int = DEFAULT_MAX_CONNECTIONS_PER_ADDRESS

    def body_deadline(self, started: float, received: int) -> float:
        """Until when a body must be complete of which so many bytes have arrived."""
        return started + self.head_timeout + received / self.min_body_rate


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """Bounds of requests under way.

    Attributes:
        max_requests: In all; as many may wait.
        max_requests_per_recipient: Of one recipient; as many may wait.
        max_requests_per_address: Of one address that are not authenticated, or come by a signed link.
        queue_timeout: Seconds that a request may wait in each queue.
    """

    max_requests: int = DEFAULT_MAX_REQUESTS
    max_requests_per_recipient: int = DEFAULT_MAX_REQUESTS_PER_RECIPIENT
    max_requests_per_address: int = DEFAULT_MAX_REQUESTS_PER_ADDRESS
    queue_timeout: float = DEFAULT_QUEUE_TIMEOUT
