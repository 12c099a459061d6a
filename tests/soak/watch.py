"""What the gateway's processes use of the machine during the run, and whether it stays the same."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from soak.threads import POOLS, Pool, PoolUse, pool_uses, thread_names

_PARTS = 10
# The pools of two gateways, of which one ends after a reload, and of the delegation service.
_CONNECTIONS = 3 * 8


@dataclass(frozen=True)
class Sample:
    """The use of all processes of a gateway.

    Attributes:
        at: Seconds of the run.
        memory: Bytes that are no part of files. Those that its processes share count once.
    """

    at: float
    memory: int
    descriptors: int
    pools: Mapping[str, int]
    database: int
    processes: int = 1

    @property
    def threads(self) -> int:
        """All threads."""
        return sum(self.pools.values())


@dataclass(frozen=True)
class Growth:
    """How a figure changed after the warm-up."""

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
    """Samples of a gateway, or of another service."""

    name: str
    pid: int
    database: str = ""
    pools: Mapping[str, Pool] = field(default_factory=lambda: POOLS)
    samples: list[Sample] = field(default_factory=list)
    rested: Sample | None = None

    def look(self, at: float) -> None:
        """Take a sample."""
        self.samples.append(self._sample(at))

    def look_rested(self, at: float) -> None:
        """Take a sample when almost all work has ended."""
        self.rested = self._sample(at)

    def _sample(self, at: float) -> Sample:
        processes = [psutil.Process(self.pid)]
        processes += processes[0].children(recursive=True)
        memory = descriptors = 0
        pools: Counter[str] = Counter()
        for each in processes:
            with suppress(psutil.NoSuchProcess, FileNotFoundError):
                memory += _own_bytes(each.pid)
                descriptors += each.num_fds()
                pools += thread_names(each.pid)
        connections = self._connections() if self.database else 0
        return Sample(at, memory, descriptors, pools, connections, len(processes))

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
        found = [
            growth("memory", [each.memory for each in later], lambda first: first * 1.1),
            growth("open descriptors", [each.descriptors for each in later], _some_room(60)),
        ]
        if self.database:
            connections = [each.database for each in later]
            found.append(growth("database connections", connections, lambda _: _CONNECTIONS))
        return found

    def excesses(self, warm_up: float) -> Iterator[str]:
        """What has grown, or is more than it can be."""
        for each in self.growths(warm_up):
            if not each.is_flat:
                change = f"{each.highest:,.0f} after {each.first:,.0f} ({each.percent:+.1f} %)"
                yield f"{self.name}, {each.name}: {change}"
        for use in self.pool_uses():
            if not use.is_right:
                limits = f"at most {use.limit}, and {use.rested_limit} at the end"
                found = f"{use.most}, and {use.rested} at the end"
                yield f"{self.name}, threads '{use.name}' ({use.pool.of}): {found}, instead of {limits}"

    def pool_uses(self) -> list[PoolUse]:
        """The threads of each pool."""
        samples = [each.pools for each in self.samples]
        processes = max((each.processes for each in self.samples), default=1)
        rested = self.rested.pools if self.rested else {}
        return pool_uses(samples, rested, self.pools, processes)


def growth(name: str, values: Sequence[float], allowed: Callable[[float], float]) -> Growth:
    """Compare the tenths of a series."""
    size = max(1, len(values) // _PARTS)
    parts = [values[begin : begin + size] for begin in range(0, len(values), size)]
    medians = [statistics.median(each) for each in parts if len(each) == size] or [0.0]
    return Growth(name, medians[0], max(medians), allowed(medians[0]))


def _some_room(more: int) -> Callable[[float], float]:
    return lambda first: first * 1.1 + more


def _own_bytes(pid: int) -> int:
    """The proportional set size of what is no file: processes that share pages divide them.

    Pages of libraries are also divided with other processes of the machine, and would seem to
    grow when one of those ends.
    """
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    own = ("Pss_Anon:", "Pss_Shmem:")
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(own))
