"""The threads of a process share few arenas of glibc."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from sluicegate._util.memory import share_arenas

_THREADS = """
import ctypes, threading
from sluicegate._util.memory import share_arenas

share_arenas()
ready, end = threading.Barrier(13), threading.Barrier(13)

def use():
    ready.wait()
    kept = [bytearray(10_000) for _ in range(2_000)]
    end.wait()

threads = [threading.Thread(target=use) for _ in range(12)]
for thread in threads:
    thread.start()
ready.wait()
end.wait()
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def arenas(**environment: str) -> int:
    """The number of arenas of a process with many threads that allocate memory."""
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", _THREADS]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=kept | environment)
    return ran.stdout.count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas of glibc")
def test_many_threads_share_two_arenas() -> None:
    assert arenas() <= 2


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas of glibc")
def test_operators_can_choose_their_number() -> None:
    assert arenas(MALLOC_ARENA_MAX="1") == 1


def test_a_heap_of_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        """A C library without glibc's functions."""

    monkeypatch.setattr("ctypes.CDLL", lambda _: Other())
    share_arenas()
