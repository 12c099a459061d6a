"""Measures what decoding costs this process: the peak of its resident memory, and its CPU time."""

from __future__ import annotations

import gc
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest
from support.clients.bystander import memory

_MB = 1_000_000
_UNEXPECTED = 3_000 * _MB  # bytes of address space, after which allocations fail


class CostMeter:
    """Fails tests that cost too much."""

    def __init__(self, growth: int, seconds: float) -> None:
        self._growth, self._seconds = growth, seconds
        self._process = Path("/proc/self")
        gc.collect()
        pa.default_memory_pool().release_unused()
        self._began = self._memory("VmRSS")

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Measure the block."""
        (self._process / "clear_refs").write_text("5")  # the peak begins again (man 5 proc)
        with self._limited_time(what):
            yield
        grown = self._memory("VmHWM") - self._began
        assert grown <= self._growth, f"{what}: the memory rose by {grown / _MB:.0f} MB"

    @contextmanager
    def _limited_time(self, what: str) -> Iterator[None]:
        def ended(_number: int, _frame: FrameType | None) -> None:
            pytest.fail(f"{what}: takes more than {self._seconds:g} s of CPU time")

        before = signal.signal(signal.SIGPROF, ended)
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _memory(self, name: str) -> int:
        return memory("self", name)


@contextmanager
def limited_address_space() -> Iterator[None]:
    """Let allocations of gigabytes fail, so that a defect does not take the machine's memory."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory("self", "VmSize") + _UNEXPECTED, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
