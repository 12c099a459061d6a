"""What a server process has used: CPU seconds and memory, as its operating system counts them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_MB = 1_000_000
_CPUCLOCK_SCHED = 2  # of all threads of a process, in the kernel's <posix-timers.h>


@dataclass
class Spent:
    """CPU seconds (user and system) of processes during a block; set when the block ends."""

    cpu_seconds: float = 0.0


@contextmanager
def spent(*pids: int) -> Iterator[Spent]:
    """Measure processes, together, during a block."""
    result = Spent()
    before = sum(map(cpu_seconds, pids))
    yield result
    result.cpu_seconds = sum(map(cpu_seconds, pids)) - before


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process since its start: exact on Linux, elsewhere in hundredths."""
    if sys.platform == "linux":
        return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)  # what clock_getcpuclockid(3) returns
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def process_tree(pid: int) -> list[int]:
    """The ids of a process and of all that it has started."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def rss_mb(pid: int) -> float:
    """Resident memory now, in millions of bytes."""
    size: int = psutil.Process(pid).memory_info().rss
    return round(size / _MB, 1)


def pss_mb(pid: int) -> float:
    """Memory with a part of what is shared with other processes, in millions of bytes; Linux only."""
    size: int = psutil.Process(pid).memory_full_info().pss
    return round(size / _MB, 1)


def peak_rss_mb(pid: int) -> float:
    """The most resident memory that the process ever had, in millions of bytes; Linux only."""
    status = Path(f"/proc/{pid}/status").read_text()
    kibibytes = next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]
    return round(int(kibibytes) * 1024 / _MB, 1)
