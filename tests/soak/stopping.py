"""Stops a service, and finds what it leaves."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
from support.process.forked import Command

_SHUTDOWN_SECONDS = 40.0


def left_by(process: Command, address: str) -> Iterator[str]:
    """Send SIGTERM to a service; what is wrong with its end."""
    if (code := process.poll()) is not None:
        yield f"has ended by itself with {code}"
        return
    descendants = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    try:
        code = process.wait(_SHUTDOWN_SECONDS)
    except subprocess.TimeoutExpired:
        code = None
    if code != 0:
        yield f"ended with {code} after SIGTERM"
    if left := [each.pid for each in descendants if each.is_running()]:
        yield f"left the processes {left}"
    place = urlsplit(address)
    with socket.socket() as probe:
        if probe.connect_ex((place.hostname or "", place.port or 0)) == 0:
            yield "left its port open"
