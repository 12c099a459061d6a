"""Runs `sluicegate` commands in processes that have imported everything: most of a start's CPU time.

They are forked from a server (`support.process.forking_server`), one for each worker of the tests. What
they show of themselves to the machine, a command line and an environment, is the server's. A test that
looks at that, at imports, or at a start as users have it, starts the command with `subprocess`.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any, Final, Protocol

import orjson
from support.process.forking_server import Request

_START_SECONDS = 120
SERVER: Final = "support.process.forking_server"
listeners: Final[list[Callable[[Sequence[str], float, float], object]]] = []
"""Called with the arguments of an ended command, and its wall and CPU time in seconds."""
_servers: Final[list[_Server]] = []


class Command(Protocol):
    """A running command: the part of `subprocess.Popen` that tests use."""

    @property
    def pid(self) -> int:
        """The ID of its process."""

    def poll(self) -> int | None:
        """The exit code, negative for a signal, or `None` while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code."""

    def send_signal(self, sig: int, /) -> None:
        """Send a signal, unless the end was noticed."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


class ForkedCommand(Command):
    """A command that was forked from the server."""

    def __init__(self, arguments: tuple[str, ...], pid: int, status: int) -> None:
        self._arguments = arguments
        self._pid = pid
        self._status = status
        self._code: int | None = None
        self._began = time.perf_counter()
        self._lock = Lock()

    @property
    def pid(self) -> int:
        return self._pid

    def poll(self) -> int | None:
        try:
            return self.wait(timeout=0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            waiting = select.poll()
            waiting.register(self._status, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(self._arguments, timeout or 0)
        with self._lock:
            if self._code is None:
                # Without a status, the server has ended, and with it what it forked.
                code, cpu = (os.read(self._status, 40).decode() or f"{-signal.SIGKILL} 0").split()
                os.close(self._status)
                self._code = int(code)
                for listener in listeners:
                    listener(self._arguments, time.perf_counter() - self._began, float(cpu))
        return self._code

    def send_signal(self, sig: int, /) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended since
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextmanager
def forked_commands() -> Iterator[None]:
    """Let commands be forked until the block ends. The server starts with the first of them."""
    server = _Server()
    _servers.append(server)
    try:
        yield
    finally:
        _servers.remove(server)
        server.close()


def can_fork() -> bool:
    """Whether this runs in a block of `forked_commands`, as all tests do, but no benchmark."""
    return bool(_servers)


def fork(
    folder: Path,
    *arguments: str,
    stdout: int | IO[Any] = subprocess.DEVNULL,
    stderr: int | IO[Any] = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    start_new_session: bool = False,
) -> ForkedCommand:
    """Start `sluicegate ARGUMENTS` in a folder, without standard input."""
    request: Request = {
        "arguments": list(arguments),
        "folder": str(folder),
        "environment": {**os.environ, **(env or {})},
        "new_session": start_new_session,
    }
    status, written = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        files = [nowhere if each == subprocess.DEVNULL else each for each in (stdout, stderr)]
        descriptors = [each if isinstance(each, int) else each.fileno() for each in files]
        pid = _servers[-1].fork(request, [nowhere, *descriptors, written])
    finally:
        os.close(written)
        os.close(nowhere)
    return ForkedCommand(arguments, pid, status)


def completed(
    folder: Path,
    *arguments: str,
    seconds: float,
    env: Mapping[str, str] | None = None,
    joined: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `sluicegate ARGUMENTS` in a folder to its end; its outcome."""
    with TemporaryFile() as output, TemporaryFile() as errors:
        said = output if joined else errors
        command = fork(folder, *arguments, stdout=output, stderr=said, env=env)
        try:
            code = command.wait(seconds)
        finally:
            command.kill()
        return subprocess.CompletedProcess(arguments, code, _content(output), _content(errors))


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class _Server:
    """The process that forks."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        # The same modules as this process has now, without the plugins that tests add.
        self._path = os.pathsep.join(filter(None, sys.path))
        self._requests, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.settimeout(_START_SECONDS)
        self._lock = Lock()

    def fork(self, request: Request, descriptors: list[int]) -> int:
        """Fork a process, and return its ID."""
        with self._lock:
            if self._process is None:
                self._process = self._started()
            socket.send_fds(self._requests, [orjson.dumps(request)], descriptors)
            return int(self._requests.recv(20))

    def _started(self) -> subprocess.Popen[bytes]:
        with self._theirs:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", SERVER],
                stdin=self._theirs.fileno(),
                env={**os.environ, "PYTHONPATH": self._path},
                start_new_session=True,
            )

    def close(self) -> None:
        """End the server."""
        self._theirs.close()
        self._requests.close()
        if self._process is not None:
            self._process.wait()
