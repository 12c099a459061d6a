"""Limits of what clients can send and occupy before they are authenticated."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, replace

log = logging.getLogger(__name__)

DEFAULT_MAX_HEAD = 65_536
DEFAULT_HEAD_TIMEOUT = 30
DEFAULT_KEEP_ALIVE_TIMEOUT = 75
DEFAULT_SEND_TIMEOUT = 60
DEFAULT_MAX_CONNECTIONS = 2_000
DEFAULT_MAX_CONNECTIONS_PER_ADDRESS = 500
DEFAULT_MAX_REQUESTS = 500
DEFAULT_MAX_REQUESTS_PER_RECIPIENT = 100
DEFAULT_MAX_REQUESTS_PER_ADDRESS = 250
DEFAULT_QUEUE_TIMEOUT = 5
MIN_BODY_RATE = 1_000
"""Bytes of a body that extend its deadline by one second: slower than any link that is in use."""
# Open files that are reserved for databases, stores, and files, and not available to clients.
_RESERVED = 256


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of connections and requests for all senders.

    Attributes:
        max_head: Maximum bytes of a request's line, headers, and trailers.
        head_timeout: Seconds until a request's headers must be complete. Also the minimum time allowed
            for any body.
        keep_alive_timeout: Seconds that a connection can stay open between two requests.
        send_timeout: Seconds after which a client that reads nothing of its response is disconnected.
    """

    max_head: int = DEFAULT_MAX_HEAD
    head_timeout: float = DEFAULT_HEAD_TIMEOUT
    keep_alive_timeout: float = DEFAULT_KEEP_ALIVE_TIMEOUT
    send_timeout: float = DEFAULT_SEND_TIMEOUT
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    max_connections_per_address: int = DEFAULT_MAX_CONNECTIONS_PER_ADDRESS

    def body_deadline(self, started: float, received: int) -> float:
        """Deadline for a body of which `received` bytes have arrived."""
        return started + self.head_timeout + received / MIN_BODY_RATE


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """Limits of concurrent requests.

    Attributes:
        queue_timeout: Seconds that a request can wait in each queue.
    """

    max_requests: int = DEFAULT_MAX_REQUESTS
    max_requests_per_recipient: int = DEFAULT_MAX_REQUESTS_PER_RECIPIENT
    max_requests_per_address: int = DEFAULT_MAX_REQUESTS_PER_ADDRESS
    queue_timeout: float = DEFAULT_QUEUE_TIMEOUT


def connections_within_files(limits: HttpLimits) -> HttpLimits:
    """The limits, with no more connections than the process can open files.

    Raises the soft limit of open files to the hard limit first. The usual soft limit, 1024, exists for
    programs that use `select`.
    """
    allowed = _raise_limit()
    if allowed is None:
        return limits
    most = max(allowed - min(_RESERVED, allowed // 2), 1)
    if most >= limits.max_connections:
        return limits
    log.warning(
        "using %d connections instead of %d (server.max_connections): the process can open %d files; "
        "raise its hard limit (ulimit -Hn, systemd's LimitNOFILE) above %d",
        most,
        limits.max_connections,
        allowed,
        limits.max_connections + _RESERVED,
    )
    return replace(limits, max_connections=most)


def _raise_limit() -> int | None:
    """Raise the soft limit. Returns how many files can be open, `None` for unlimited."""
    if sys.platform == "win32":
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            hard = soft  # some systems allow less than they report
    return None if hard == resource.RLIM_INFINITY else hard
