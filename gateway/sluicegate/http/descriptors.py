"""The limit of open files: as high as the process may have it, and connections within it."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace

from sluicegate.http.limits import HttpLimits

log = logging.getLogger(__name__)

# Of what the process may open, the part that is never spent on clients: databases, stores, files.
_RESERVED = 256


def connections_within_files(limits: HttpLimits) -> HttpLimits:
    """The limits, with no more connections than the process may open files.

    Raises the soft limit of open files to the hard one first: its usual value, 1024, is meant for
    programs that use `select`.
    """
    allowed = _raise_limit()
    if allowed is None:
        return limits
    most = max(allowed - min(_RESERVED, allowed // 2), 1)
    if most >= limits.max_connections:
        return limits
    log.warning(
        "at most %d connections, not %d (server.max_connections): the process may open %d files; "
        "raise its hard limit (ulimit -Hn, systemd's LimitNOFILE) above %d",
        most,
        limits.max_connections,
        allowed,
        limits.max_connections + _RESERVED,
    )
    return replace(limits, max_connections=most)


def _raise_limit() -> int | None:
    """Raise the soft limit; how many files may be open, `None` for any number."""
    if sys.platform == "win32":
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            hard = soft  # some systems allow less than they say
    return None if hard == resource.RLIM_INFINITY else hard
