"""The side of the fork server: it has imported what workers need, and forks them (docs/adr/0099).

It starts no thread and no event loop, and opens no connection, so that each worker begins like a new
process. It ends once the supervisor has closed its end of the socket, and all workers have ended.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module

from sluicegate._util.memory import collect_all, paused_collection
from sluicegate.cli.processes.sockets import WorkerSockets

PLACE_BYTES = 4
# All workers need these, and what these import.
_MODULES = ("sluicegate.cli.processes.worker", "sluicegate.protocols.delta_sharing.warm_up_queries")
_DESCRIPTORS = 5  # where the status is written, and those of `WorkerSockets`
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # for the supervisor and the workers


class ForkServer:
    """Starts a worker at each request."""

    def __init__(self, requests: socket.socket, command: Callable[[WorkerSockets], list[str]]) -> None:
        self._requests = requests
        self._command = command
        self._statuses: dict[int, int] = {}
        self._modules: int | None = None
        self._has_all_modules = False

    def run(self) -> WorkerSockets | None:
        """Start workers until there are no more requests, and wait for them.

        Returns:
            In a forked worker, what it inherits. In this process, `None`.
        """
        with paused_collection():
            for name in _MODULES:
                import_module(name)
        collect_all()
        ended, wakeup = socket.socketpair()
        handlers = _watch_signals(wakeup)
        with ended, wakeup, selectors.DefaultSelector() as selector:
            ended.setblocking(False)
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(ended, selectors.EVENT_READ)
            while self._statuses or self._requests in selector.get_map():
                ready = [key.fileobj for key, _ in selector.select()]
                if ended in ready:
                    ended.recv(1024)
                    self._report_ended()
                if self._requests in ready:
                    place, descriptors, _, _ = socket.recv_fds(
                        self._requests, PLACE_BYTES, _DESCRIPTORS
                    )
                    if not place:
                        selector.unregister(self._requests)
                    elif worker := self._start(int.from_bytes(place), descriptors):
                        _restore_signals(handlers)
                        return worker
        return None

    def _start(self, place: int, descriptors: Sequence[int]) -> WorkerSockets | None:
        """Start a worker. Return what it inherits if this process is the worker."""
        status, *inherited = descriptors
        for each in descriptors:
            os.set_inheritable(each, False)
        sockets = WorkerSockets.waiting(place, inherited)
        self._import_modules()
        pid = None
        with suppress(OSError):  # too many processes: the supervisor notices that the status is closed
            if _can_fork():
                if not self._has_all_modules:
                    self._modules = os.memfd_create("sluicegate-modules")
                sockets = replace(sockets, modules=self._modules)
                pid = _fork()
            else:
                pid = self._spawn(sockets)
        if pid == 0:
            self._requests.close()
            for each in (status, *self._statuses.values()):
                os.close(each)
            return sockets
        for each in inherited:
            os.close(each)
        if pid is None:
            os.close(status)
        else:
            self._statuses[pid] = status
            _write(status, pid)
        return None

    def _import_modules(self) -> None:
        """Import what the first worker has imported until it was ready."""
        if self._modules is not None:
            names = os.pread(self._modules, os.fstat(self._modules).st_size, 0).decode().splitlines()
            os.close(self._modules)
            self._modules = None
            self._has_all_modules = bool(names)
            _import(names)

    def _spawn(self, sockets: WorkerSockets) -> int:
        for each in sockets.descriptors:
            os.set_inheritable(each, True)
        command = self._command(sockets)
        return os.posix_spawn(command[0], command, os.environ, setsigdef=_IGNORED)

    def _report_ended(self) -> None:
        while self._statuses:
            pid, code = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if (status := self._statuses.pop(pid, None)) is not None:
                _write(status, os.waitstatus_to_exitcode(code))
                os.close(status)


def report_modules(sockets: WorkerSockets) -> None:
    """Write what this worker has imported, so that it is imported before other workers are forked."""
    if sockets.modules is not None:
        with os.fdopen(sockets.modules, "w") as file:
            file.write("\n".join(sys.modules))


def _can_fork() -> bool:
    """Whether a forked process can do what a new one can.

    The only threads must be those of libraries such as Arrow, which stop them or do without them in a
    forked process. On macOS, libraries of the system don't work in forked processes.
    """
    return sys.platform == "linux" and len(sys._current_frames()) == 1


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads; see `_can_fork`
        return os.fork()


def _import(names: Sequence[str]) -> None:
    with paused_collection():
        for name in names:
            # Some names are not those of files, and the worker has imported all that it needs.
            with suppress(Exception):
                import_module(name)
    collect_all()


def _watch_signals(wakeup: socket.socket) -> dict[int, signal._HANDLER]:
    """Notice when workers end. Return the previous handlers of signals that are now ignored."""
    wakeup.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
    return {number: signal.signal(number, signal.SIG_IGN) for number in _IGNORED}


def _restore_signals(handlers: dict[int, signal._HANDLER]) -> None:
    signal.set_wakeup_fd(-1)
    for number, handler in {signal.SIGCHLD: signal.SIG_DFL, **handlers}.items():
        signal.signal(number, handler)


def _write(status: int, number: int) -> None:
    with suppress(OSError):  # the supervisor has ended
        os.write(status, f"{number}\n".encode())
