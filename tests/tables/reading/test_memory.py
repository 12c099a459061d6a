"""What a reading no longer needs is returned: by errors, by Python and by the C library."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from obstore.store import LocalStore
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate._util.memory import trim_heap
from sluicegate.api import CatalogTable, ObjectDirectory, TableLimits, TableTooLarge
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.reading import memory
from sluicegate.tables.reading.failures import release_locals
from sluicegate.tables.reading.reader import TableReader

_MB = 1_000_000


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Let nothing but reference counts release memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
async def test_what_a_refused_reading_decoded_does_not_wait_for_the_collector(tmp_path: Path) -> None:
    folder = DeltaFolder(tmp_path / "t")
    folder.commit(0, protocol(), metadata())
    line = orjson.dumps(add("a" * 1000)) + b"\n"
    (folder.log / f"{1:020}.json").write_bytes(line * (30 * _MB // len(line)))
    reader = TableReader({"delta": DeltaFormat()}, 100 * _MB, TableLimits(bytes=30 * _MB))
    table = CatalogTable(id="t", location=f"file://{tmp_path}/t", format="delta")
    before = pa.total_allocated_bytes()
    with pytest.raises(TableTooLarge):
        await reader.latest(table, ObjectDirectory(LocalStore(tmp_path), "t"))
    assert pa.total_allocated_bytes() - before < _MB


@pytest.mark.usefixtures("no_collector")
def test_locals_of_causes_and_of_members_of_groups_are_released() -> None:
    class Large:
        """Something whose end can be seen."""

        alive = 0

        def __init__(self) -> None:
            Large.alive += 1

        def __del__(self) -> None:
            Large.alive -= 1

    def fail(cause: Exception | None = None) -> None:
        large = Large()
        raise ValueError(repr(large)) from cause

    def failing(cause: Exception | None = None) -> Exception:
        try:
            fail(cause)
        except ValueError as error:
            return error
        raise AssertionError

    error = ExceptionGroup("several", [failing(failing()), failing()])
    error.__context__ = error.exceptions[0].__context__ = failing()
    assert Large.alive == 4
    release_locals(error)
    assert Large.alive == 0


_THREADS = f"""
import os, re, threading
from sluicegate.tables.reading.memory import return_freed_memory

def resident():
    return 1024 * int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])

return_freed_memory()
freed, measured = threading.Barrier(9), threading.Barrier(9)

def use():
    for _ in range(2):
        bytearray(b"x") * {8 * _MB}
    freed.wait()
    measured.wait()

threads = [threading.Thread(target=use) for _ in range(8)]
before = resident()
for thread in threads:
    thread.start()
freed.wait()
print(resident() - before)
measured.wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's thresholds")
def test_no_thread_keeps_the_large_buffers_that_it_had() -> None:
    chosen = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
    environment = {name: os.environ[name] for name in os.environ if not name.startswith(chosen)}
    ran = subprocess.run(
        [sys.executable, "-c", _THREADS], capture_output=True, text=True, check=True, env=environment
    )
    assert int(ran.stdout) < 16 * _MB


def test_a_heap_of_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        """A C library without glibc's functions."""

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Other())
    trim_heap()
    memory.return_freed_memory()
