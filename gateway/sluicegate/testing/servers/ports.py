"""Ports for servers that cannot be told to take any."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of loopback that nobody listens on now; somebody else may be quicker to take it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
