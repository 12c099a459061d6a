"""The same work in several processes at once, begun together."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

Begin = Callable[[], None]
Work = Callable[[str, int, Begin], Awaitable[int]]
"""Given a database's URL, its own number and what waits for the others: how much it has done."""

Result = tuple[int, float, float, float]
"""An amount; seconds by the clock at its begin and end; of the processor."""

_TIMEOUT = 600


@dataclass(frozen=True)
class Rate:
    """How much was done.

    Attributes:
        per_second: By all processes together.
        cpu_seconds: Of a process, for each; the database's own are not counted.
    """

    per_second: float
    cpu_seconds: float


def rate(work: Work, url: str, processes: int) -> Rate:
    """How fast so many processes do something together."""
    # What is imported already is not imported again by each of them.
    context = multiprocessing.get_context("fork")
    barrier: Barrier = context.Barrier(processes)
    results: Queue[Result] = context.Queue()
    started = [
        context.Process(target=_run, args=(work, url, number, barrier, results))
        for number in range(processes)
    ]
    for process in started:
        process.start()
    done = [results.get(timeout=_TIMEOUT) for _ in started]
    for process in started:
        process.join(_TIMEOUT)
    amounts, begun, ended, cpu = zip(*done, strict=True)
    amount = max(1, sum(amounts))
    return Rate(amount / (max(ended) - min(begun)), sum(cpu) / amount)


def _run(work: Work, url: str, number: int, barrier: Barrier, results: Queue[Result]) -> None:
    begun = cpu = 0.0

    def begin() -> None:
        nonlocal begun, cpu
        barrier.wait(_TIMEOUT)
        begun, cpu = time.monotonic(), time.process_time()

    async def done() -> int:
        return await work(url, number, begin)

    amount = asyncio.run(done())
    results.put((amount, begun, time.monotonic(), time.process_time() - cpu))
