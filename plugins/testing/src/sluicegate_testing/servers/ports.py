"""Free ports for servers that cannot select one themselves."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Return a port of loopback that is free now. Another process can still take it first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
