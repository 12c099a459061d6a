"""What a server process has used: CPU seconds and memory, as its operating system counts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_MB = 1_000_000


@dataclass
class Spent:
    """CPU seconds (user and system) of the process during a block; set when the block ends."""

    cpu_seconds: float = 0.0


@contextmanager
def spent(pid: int) -> Iterator[Spent]:
    """Measure a process during a block. The system counts in hundredths: make blocks long enough."""
    process, result = psutil.Process(pid), Spent()
    before = process.cpu_times()
    yield result
    after = process.cpu_times()
    result.cpu_seconds = (after.user + after.system) - (before.user + before.system)


def rss_mb(pid: int) -> float:
    """Resident memory now, in millions of bytes."""
    size: int = psutil.Process(pid).memory_info().rss
    return round(size / _MB, 1)


def peak_rss_mb(pid: int) -> float:
    """The most resident memory that the process ever had, in millions of bytes; Linux only."""
    status = Path(f"/proc/{pid}/status").read_text()
    kibibytes = next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]
    return round(int(kibibytes) * 1024 / _MB, 1)
