"""The guard of the unit tests rejects processes, sockets and databases."""

import asyncio
import multiprocessing
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

ATTEMPTS: dict[str, Callable[[], object]] = {
    "subprocess": lambda: subprocess.run([sys.executable, "-c", ""], check=False),
    "fork": lambda: os.fork() or os._exit(0),
    "system": lambda: os.system("true"),  # noqa: S605, S607
    "posix_spawn": lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}),
    "multiprocessing": lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
    "connect": lambda: _with_socket(lambda each: each.connect(("127.0.0.1", 9))),
    "bind": lambda: _with_socket(lambda each: each.bind(("127.0.0.1", 0))),
    "look up": lambda: socket.getaddrinfo("localhost", 80),
    "sqlite3": lambda: sqlite3.connect(":memory:"),
}

# Starts before any test, as the threads of other folders' fixtures do.
OLDER = ThreadPoolExecutor(1)
OLDER.submit(int).result()


def _with_socket(use: Callable[[socket.socket], None]) -> None:
    with socket.socket() as opened:
        use(opened)


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_an_attempt_to_leave_the_process_is_rejected(
    attempt: Callable[[], object], outside_attempts: list[str]
) -> None:
    with pytest.raises(RuntimeError, match="a unit test must not"):
        attempt()
    outside_attempts.clear()


async def test_a_database_in_another_thread_is_rejected(outside_attempts: list[str]) -> None:
    with pytest.raises(RuntimeError, match="must not open a database"):
        await asyncio.to_thread(sqlite3.connect, ":memory:")
    outside_attempts.clear()


def test_threads_of_fixtures_in_other_folders_go_on() -> None:
    OLDER.submit(lambda: sqlite3.connect(":memory:").close()).result()


async def test_a_connection_of_asyncio_is_rejected(outside_attempts: list[str]) -> None:
    with pytest.raises(RuntimeError, match="must not use the network"):
        await asyncio.open_connection("127.0.0.1", 9)
    outside_attempts.clear()


def test_an_attempt_is_recorded_even_if_its_exception_is_caught(outside_attempts: list[str]) -> None:
    with suppress(RuntimeError):
        sqlite3.connect(":memory:")
    assert outside_attempts == ["a unit test must not open a database (sqlite3.connect)"]
    outside_attempts.clear()


async def test_an_event_loop_runs() -> None:
    assert await asyncio.to_thread(lambda: 1) == 1
