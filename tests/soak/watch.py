"""What the gateway's processes use of the machine during the run, and whether it stays the same."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_PARTS = 10
_WORKERS = 40  # threads that anyio starts for busy moments, and ends when they have been idle
# The pools of two gateways, of which one ends after a reload.
_CONNECTIONS = 16


@dataclass(frozen=True)
class Sample:
    """The use of all processes of a gateway.

    Attributes:
        at: Seconds of the run.
        memory: Bytes, of which those that processes share count once.
        descriptors: Open files and connections.
        threads: Of all processes.
        database: Connections to the database's server; 0 for SQLite.
    """

    at: float
    memory: int
    descriptors: int
    threads: int
    database: int


@dataclass(frozen=True)
class Growth:
    """How a figure changed after the warm-up.

    Attributes:
        first: The median of the first tenth of the time.
        highest: The highest median of any tenth.
        allowed: The highest value that counts as the same.
    """

    name: str
    first: float
    highest: float
    allowed: float

    @property
    def percent(self) -> float:
        """By how much the highest is above the first."""
        return 100 * (self.highest / self.first - 1) if self.first else 0.0

    @property
    def is_flat(self) -> bool:
        """Whether the figure stayed the same."""
        return self.highest <= self.allowed


@dataclass
class Watch:
    """Samples of a gateway.

    Args:
        pid: The gateway's first process.
        database: The name of its PostgreSQL database, or an empty text.
    """

    pid: int
    database: str
    samples: list[Sample] = field(default_factory=list)

    def look(self, at: float) -> None:
        """Take a sample."""
        processes = [psutil.Process(self.pid)]
        processes += processes[0].children(recursive=True)
        memory = descriptors = threads = 0
        for each in processes:
            with suppress(psutil.NoSuchProcess, FileNotFoundError):
                memory += _proportional_bytes(each.pid)
                descriptors += each.num_fds()
                threads += each.num_threads()
        connections = self._connections() if self.database else 0
        self.samples.append(Sample(at, memory, descriptors, threads, connections))

    def _connections(self) -> int:
        """PostgreSQL has a process for each connection, and its title names the database."""
        titles = (" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))
        return sum(title.startswith("postgres:") and self.database in title for title in titles)

    def growths(self, warm_up: float) -> list[Growth]:
        """What each figure has become since the end of the warm-up.

        Memory must stay within 10 %. Connections to clients and stores come and go with the outages, so
        that the others have some room: a leak of one descriptor in a thousand requests exceeds it. The
        pool opens connections to the database for busy moments, and closes them again.
        """
        later = [each for each in self.samples if each.at >= warm_up]
        return [
            growth("memory", [each.memory for each in later], lambda first: first * 1.1),
            growth("open descriptors", [each.descriptors for each in later], _some_room(60)),
            growth("threads", [each.threads for each in later], _some_room(_WORKERS)),
            growth("database connections", [each.database for each in later], lambda _: _CONNECTIONS),
        ]


def growth(name: str, values: Sequence[float], allowed: Callable[[float], float]) -> Growth:
    """Compare the tenths of a series."""
    size = max(1, len(values) // _PARTS)
    parts = [values[begin : begin + size] for begin in range(0, len(values), size)]
    medians = [statistics.median(each) for each in parts if len(each) == size] or [0.0]
    return Growth(name, medians[0], max(medians), allowed(medians[0]))


def _some_room(more: int) -> Callable[[float], float]:
    return lambda first: first * 1.1 + more


def _proportional_bytes(pid: int) -> int:
    """The proportional set size: pages that processes share are divided between them."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
