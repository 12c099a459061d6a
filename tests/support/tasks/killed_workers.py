"""Workers that are killed, each at a moment of its own, until so many have died over their tasks."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from typing import Any

from support.tasks.forked_workers import Nursery
from support.tasks.worker_gates import FIRST, PARTS, Gate

_HELD = """
SELECT status, json_array_length(stages) AS stages FROM tasks
WHERE status IN ('ACQUIRING_RESOURCES', 'RUNNING') AND leased_by LIKE '%-' || $1::text || '-%'
"""
# Seconds that content and manifests take at least, and no other part does.
_LONG, _SHORT = 1.0, 0.02


@dataclass(frozen=True)
class Fate:
    """When a worker is killed.

    Attributes:
        part: Just before it records that; `None` is at any time after it has leased a task.
        delay: Or so many seconds later, when it was let through.
    """

    part: str | None
    delay: float | None


def fates(dice: random.Random, *, at_records: int, after_records: int, anywhere: int) -> list[Fate]:
    """Fates in a random order."""
    chosen = [Fate(part, None) for part in PARTS for _ in range(at_records)]
    for part in PARTS[:-1]:
        longest = _LONG if part in PARTS[:2] else _SHORT
        chosen += [Fate(part, dice.uniform(0, longest)) for _ in range(after_records)]
    chosen += [Fate(None, dice.uniform(0, 4)) for _ in range(anywhere)]
    dice.shuffle(chosen)
    return chosen


@dataclass
class Tally:
    """Where kills fell."""

    kills: int = 0
    at_records: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """A line for each part."""
        lines = (
            f"{part:15} {self.at_records[part]:3} before its record, {self.parts[part]:3} leases lost"
            for part in PARTS
        )
        return "\n".join((f"{self.kills} workers killed", *lines))


class Killings:
    """Starts workers and kills them."""

    def __init__(self, nursery: Nursery, url: str, doomed: list[Fate]) -> None:
        self.tally = Tally()
        self._nursery = nursery
        self._url = url
        self._doomed = doomed

    async def carry_out(self, at_once: int) -> None:
        """Kill until every fate is fulfilled, or no task is left."""
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(self._one_after_the_other())

    async def _one_after_the_other(self) -> None:
        async with connected(self._url) as connection:
            while self._doomed:
                with killed_in_the_end(self._nursery) as worker:
                    if not await self._kill(worker, connection):
                        return

    async def _kill(self, worker: ForkServerProcess, connection: Any) -> bool:
        """Whether there was a task to die over."""
        assert worker.pid is not None
        gate = Gate(connection, worker.pid)
        await gate.close(FIRST)
        try:
            if not await gate.is_reached():
                return False
            fate = self._fate_from(await _parts_finished(connection, worker.pid))
            if fate is None:
                return True
            if not await self._come_to(fate, gate):
                self._doomed.append(fate)
                return False
            worker.kill()
            worker.join()
            held = await _parts_held(connection, worker.pid)
            self._count(fate, held)
        finally:
            await gate.open()
        return True

    def _fate_from(self, finished: int) -> Fate | None:
        """The nearest fate that a task comes to; `None` where another worker took the last."""
        ahead = [each for each in self._doomed if _place(each) not in range(1, finished + 1)]
        fate = min(ahead or self._doomed, key=_place, default=None)
        if fate is not None:
            self._doomed.remove(fate)
        return fate

    async def _come_to(self, fate: Fate, gate: Gate) -> bool:
        if fate.part is not None:
            await gate.close(fate.part)
            if not await gate.is_reached():
                return False
        if fate.delay is not None:
            await gate.open()
            await asyncio.sleep(fate.delay)
        return True

    def _count(self, fate: Fate, held: list[str]) -> None:
        if not held:  # its task had just ended: another one dies, and surely over a task
            self._doomed.append(Fate(fate.part or FIRST, None))
            return
        self.tally.kills += 1
        self.tally.parts.update(held)
        if fate.part is not None and fate.delay is None:
            self.tally.at_records[fate.part] += 1


def _place(fate: Fate) -> int:
    return 0 if fate.part is None else PARTS.index(fate.part)


async def _parts_finished(connection: Any, pid: int) -> int:
    """Finished stages of the task that a worker has, the least where it has several."""
    return min([row["stages"] for row in await connection.fetch(_HELD, str(pid))], default=0)


async def _parts_held(connection: Any, pid: int) -> list[str]:
    """What a worker is at, or was when it died: a part for each of its leases."""
    rows = await connection.fetch(_HELD, str(pid))
    return [FIRST if row["status"] != "RUNNING" else PARTS[row["stages"] + 1] for row in rows]


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Any]:
    """An asyncpg connection."""
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@contextmanager
def killed_in_the_end(nursery: Nursery) -> Iterator[ForkServerProcess]:
    """A worker that does not outlive the block."""
    worker = nursery.start()
    try:
        yield worker
    finally:
        worker.kill()
        worker.join()
        worker.close()
