"""Unit tests start no process, open no socket and no database: a test that tries to fails.

Python's audit events (PEP 578) report such attempts, also those of libraries and of threads that a test
starts.
"""

import _posixsubprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

_FOLDER = Path(__file__).parent
_FORBIDDEN = {
    "os.exec": "start a process",
    "os.fork": "start a process",
    "os.forkpty": "start a process",
    "os.posix_spawn": "start a process",
    "os.system": "start a process",
    "pty.spawn": "start a process",
    "subprocess.Popen": "start a process",
    "socket.bind": "use the network",
    "socket.connect": "use the network",
    "socket.getaddrinfo": "use the network",
    "socket.gethostbyname": "use the network",
    "socket.sendmsg": "use the network",
    "socket.sendto": "use the network",
    "sqlite3.connect": "open a database",
}


class OutsideOfUnit(RuntimeError):
    """A unit test tried to reach something outside of its process."""


class Guard:
    """Rejects and records attempts to leave the process while a unit test runs."""

    def __init__(self) -> None:
        self.active = False
        self.attempts: list[str] = []
        self._older_threads: frozenset[int | None] = frozenset()

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Reject a forbidden event. An audit hook can't be removed, only made inactive."""
        if event in _FORBIDDEN and self._applies():
            self.reject(event)

    def _applies(self) -> bool:
        return self.active and threading.get_ident() not in self._older_threads

    def reject(self, event: str, *arguments: Any) -> None:
        """Record an attempt, and raise."""
        attempt = f"a unit test must not {_FORBIDDEN.get(event, 'start a process')} ({event})"
        self.attempts.append(attempt)
        raise OutsideOfUnit(f"{attempt}; move the test out of tests/unit")

    @contextmanager
    def on(self) -> Iterator[None]:
        """Reject attempts within this context, except those of threads that fixtures of others use."""
        running = {thread.ident for thread in threading.enumerate()}
        self._older_threads = frozenset(running - {threading.get_ident()})

        def fork_exec(*arguments: Any) -> Any:
            if self._applies():
                self.reject("fork_exec")
            return allowed(*arguments)

        allowed = _posixsubprocess.fork_exec

        # `multiprocessing` calls this function directly, which causes no audit event.
        with mock.patch("_posixsubprocess.fork_exec", fork_exec):
            self.active = True
            try:
                yield
            finally:
                self.active = False


_guard = Guard()
sys.addaudithook(_guard.audit)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Guard the fixtures of a test. Pytest calls these hooks for the tests of all folders."""
    with _guarded(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Guard a test, but not the end of fixtures: those of other folders end after the last test."""
    with _guarded(item):
        yield


def _guarded(item: pytest.Item) -> AbstractContextManager[None]:
    return _guard.on() if item.path.is_relative_to(_FOLDER) else nullcontext()


@pytest.fixture(autouse=True)
def outside_attempts() -> Iterator[list[str]]:
    """The attempts of this test. They fail it even if the tested code catches the exception."""
    _guard.attempts.clear()
    yield _guard.attempts
    if _guard.attempts:
        pytest.fail("\n".join(_guard.attempts))
