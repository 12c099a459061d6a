"""A process that has imported the gateway and its plugins, and forks a command at each request.

It reads requests from the socket that is its standard input, until the other end is closed. See
`support.process.forked`, which starts it.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from typing import TypedDict

import orjson

_MOST_BYTES = 1 << 20  # of a request, which contains the environment of the command
_DESCRIPTORS = 4  # standard input, output and error, and where the exit status is written
# The earlier path of the kit warns, and a migration is read by Alembic only.
_LEFT_OUT = ("sluicegate.testing", "sluicegate.database.migrations", "sluicegate.cli.__main__")


class Request(TypedDict):
    """A command to run."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    new_session: bool


def import_all() -> None:
    """Import all modules of the gateway and its plugins for which everything is installed."""
    plugins = {each.module.partition(".")[0] for each in entry_points(group="sluicegate")}
    for name in ("sluicegate", *sorted(plugins)):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}.", onerror=lambda _: None):
            if not module.name.startswith(_LEFT_OUT):
                with suppress(ImportError):
                    importlib.import_module(module.name)


def serve(requests: socket.socket) -> list[str] | None:
    """Fork a process for each request, and report how each one ends.

    Returns:
        In a forked process, the arguments of its command. In this one, `None`, when no requests follow.
    """
    statuses: dict[int, int] = {}
    with selectors.DefaultSelector() as selector, _noticed_ends() as ended:
        selector.register(requests, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is ended:
                    ended.recv(1024)
                    _report(statuses)
                    continue
                message, descriptors, _, _ = socket.recv_fds(requests, _MOST_BYTES, _DESCRIPTORS)
                if not message:
                    return None
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    requests.detach()
                    return _become(orjson.loads(message), descriptors)
                statuses[pid] = descriptors.pop()
                for each in descriptors:
                    os.close(each)
                requests.send(str(pid).encode())


def _noticed_ends() -> socket.socket:
    """A socket from which something can be read when a process has ended."""
    noticed, written = socket.socketpair()
    for end in (noticed, written):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(written.detach())
    return noticed


def _report(statuses: dict[int, int]) -> None:
    """Write exit codes and CPU times of ended processes to their descriptors."""
    while statuses:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid == 0:
            return
        descriptor = statuses.pop(pid)
        with suppress(BrokenPipeError):  # nobody waits for it any more
            cpu = usage.ru_utime + usage.ru_stime
            os.write(descriptor, f"{os.waitstatus_to_exitcode(status)} {cpu:.6f}".encode())
        os.close(descriptor)


def _become(request: Request, descriptors: Sequence[int]) -> list[str]:
    """Take over what the new process has, as if it had been started."""
    *standard, status = descriptors
    os.close(status)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if request["new_session"]:
        os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    importlib.invalidate_caches()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return request["arguments"]


def main() -> None:
    """Import everything, serve, and in a forked process run the command."""
    with socket.socket(fileno=os.dup(0)) as requests:
        import_all()
        gc.collect()
        gc.freeze()
        arguments = serve(requests)
    if arguments is not None:
        from sluicegate.cli import main as run

        sys.argv = ["sluicegate", *arguments]
        run()


if __name__ == "__main__":
    main()
