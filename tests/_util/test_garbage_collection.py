"""The garbage collector pauses while modules are imported, and only then."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import weakref

import pytest

from sluicegate._util.memory import collect_all, paused_collection


def test_collection_goes_on_after_the_imports() -> None:
    before = gc.get_freeze_count()
    try:
        with paused_collection():
            assert not gc.isenabled()
            made: list[list[int]] = [[] for _ in range(1000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(made)
    finally:
        gc.unfreeze()


def test_collection_goes_on_where_an_import_fails() -> None:
    with pytest.raises(ImportError), paused_collection():
        raise ImportError
    assert gc.isenabled()


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_found_among_objects_that_are_never_scanned() -> None:
    try:
        with paused_collection():
            knot = Knot()
        remaining = weakref.ref(knot)
        del knot
        gc.collect()
        assert remaining() is not None
        collect_all()
        assert remaining() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


_HOLES = """
import gc, re
from sluicegate._util.memory import collect_all

def anonymous():
    return 1024 * int(re.search(r"Anonymous:\\s+(\\d+)", open("/proc/self/smaps_rollup").read())[1])

class Knot:
    def __init__(self):
        self.itself, self.buffer = self, bytearray(50_000)

gc.disable()
kept = [(Knot(), bytearray(1000)) for _ in range(2_000)]
kept = [buffer for _, buffer in kept]
before = anonymous()
collect_all()
print(before - anonymous())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's heap")
def test_memory_between_objects_that_remain_is_returned() -> None:
    ran = subprocess.run([sys.executable, "-c", _HOLES], capture_output=True, text=True, check=True)
    assert int(ran.stdout) > 50_000_000  # of the 100 MB that were freed
