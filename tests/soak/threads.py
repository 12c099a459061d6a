"""The threads of a process by their pools, and whether one has more than it can have."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NAMED_THREADS = str(Path(__file__).parent / "named_threads")
"""What must be on the path of a process, so that the kernel knows the names of its threads."""
_NUMBER = re.compile(r"[-_ ]*\d.*", re.ASCII)
_CORES = os.cpu_count() or 1
# Arrow starts threads of its pools when it first needs them. They have the name of the thread that
# starts them.
_ARROW = _CORES + 8
# Of anyio: 40, five with limits of their own in each of two gateways, and three for each log that a
# client lets it read.
_ANYIO = 40 + 2 * 5 + 3 * 64
# As many as one request can use at a time.
_OF_ONE_REQUEST = 8


@dataclass(frozen=True)
class Pool:
    """Threads with one name.

    Attributes:
        rested: The same, a while after almost all work has ended; `None` if none of them end.
    """

    of: str
    most: int
    rested: int | None = None


POOLS: Mapping[str, Pool] = {
    "sluicegate": Pool("main thread, and Arrow's", 1 + _ARROW),
    "uvloop": Pool("`asyncio.to_thread`", _CORES + 4),
    "AnyIO worker th": Pool("`anyio.to_thread`, and Arrow's", _ANYIO + _ARROW, _OF_ONE_REQUEST),
    "tokio-rt-worker": Pool("obstore", _CORES + 512, _CORES + _OF_ONE_REQUEST),
    "libuv-worker": Pool("uvloop: names of hosts", 4),
    "jemalloc_bg_thd": Pool("Arrow: unused memory", 4),
    "OtelBatchSpanRe": Pool("OpenTelemetry: spans", 1),
    "OtelPeriodicExp": Pool("OpenTelemetry: metrics", 1),
    "executors": Pool("executors of a worker", 1),
}
"""All that a process can have. Idle threads of obstore and anyio end after ten seconds. obstore uses
its threads in turn, so that those of one burst of reads remain while other reads of files follow."""
# The connections and the audit log of two gateways, of which one ends after a reload.
SQLITE_POOLS: Mapping[str, Pool] = {
    "Thread": Pool("connections to SQLite", 16),
    "audit-log": Pool("audit log in SQLite", 2),
}


@dataclass(frozen=True)
class PoolUse:
    """How many threads of a pool there were."""

    name: str
    pool: Pool
    most: int
    rested: int
    processes: int

    @property
    def limit(self) -> int:
        """The most that there can be."""
        return self.pool.most * self.processes

    @property
    def rested_limit(self) -> int:
        """The most that there can be at the end."""
        each = self.pool.most if self.pool.rested is None else self.pool.rested
        return each * self.processes

    @property
    def is_right(self) -> bool:
        """Whether there were not more than there can be."""
        return self.most <= self.limit and self.rested <= self.rested_limit


def thread_names(pid: int) -> Counter[str]:
    """How many threads of each name a process has."""
    found: Counter[str] = Counter()
    for each in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            found[_NUMBER.sub("", (each / "comm").read_text().strip())] += 1
    return found


def pool_uses(
    samples: Sequence[Mapping[str, int]],
    rested: Mapping[str, int],
    pools: Mapping[str, Pool],
    processes: int,
) -> list[PoolUse]:
    """The use of each pool."""
    unknown = Pool("unknown", 0)
    found = [*samples, rested]
    return [
        PoolUse(
            name,
            pools.get(name, unknown),
            max(each.get(name, 0) for each in found),
            rested.get(name, 0),
            processes,
        )
        for name in sorted({name for each in found for name in each})
    ]
