"""The limit of open files: raised as far as the process can, and applied to connections."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace

from sluicegate.http.limits import HttpLimits

log = logging.getLogger(__name__)

# Open files that are reserved for databases, stores, and files, and not available to clients.
_RESERVED = 256


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
