"""Reports the state of this process to systemd (sd_notify(3)), if systemd has started it."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress

_VARIABLE = "NOTIFY_SOCKET"


def notify_ready() -> None:
    """Report that the process serves, after its start or a reload."""
    _send("READY=1")


def notify_reloading() -> None:
    """Report that the process applies another configuration. `notify_ready` follows."""
    _send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def notify_stopping() -> None:
    """Report that the process accepts no more requests, and completes those in progress."""
    _send("STOPPING=1")


def _send(state: str) -> None:
    name = os.environ.get(_VARIABLE)
    if not name or name[0] not in "/@":
        return
    address = f"\0{name[1:]}" if name[0] == "@" else name  # a name of Linux's abstract namespace
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(state.encode(), address)
