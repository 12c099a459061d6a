"""Keeps a number of workers running, replaces them one by one, and stops them."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol, Self

from sluicegate.cli.processes.child import Child
from sluicegate.telemetry import count

log = logging.getLogger(__name__)

# Seconds: before a worker that ended is replaced, doubled each time up to the maximum, and the lifetime
# after which the wait starts again at its minimum.
_WAIT = 1.0
_MOST_WAIT = 30.0
_STABLE = 60.0
# Seconds that a worker has beyond the grace period of its requests, to close plugins and the database.
_CLOSING = 15.0


class WorkerFailed(Exception):
    """A worker could not start, or ended before it was ready. It has printed why."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"a gateway process could not start: {reason}")
        self.code = code


class StartsWorkers(Protocol):
    """Starts workers that have one configuration and one version of the code."""

    async def start(self) -> Child:
        """Start a worker."""

    def renewed(self) -> Self:
        """Return another source: its workers have the present configuration and code."""

    def close(self) -> None:
        """Start no more workers. Those that are running keep running."""

    async def aclose(self) -> None:
        """Close, after all workers have ended."""


class Supervisor:
    """Runs workers."""

    def __init__(self, source: StartsWorkers, processes: int, grace: float) -> None:
        self._source = source
        self._processes = processes
        self._timeout = grace + _CLOSING
        self._slots: list[_Slot] = []
        self._alive: set[Child] = set()

    async def open(self) -> str:
        """Start all workers, and return their address. They wait for `accept`.

        The first one migrates the database and finds errors of the configuration before others start.
        """
        try:
            first, address = await self._ready(self._source)
            rest = await asyncio.gather(*(self._ready(self._source) for _ in range(1, self._processes)))
        except BaseException:
            await self.aclose()
            raise
        self._slots = [_Slot(child) for child in (first, *(child for child, _ in rest))]
        return address

    def accept(self) -> None:
        """Let all workers accept connections."""
        for slot in self._slots:
            slot.child.accept()

    async def run(self) -> None:
        """Replace workers that end unexpectedly, until canceled."""
        await asyncio.gather(*(self._keep(slot) for slot in self._slots))

    async def replace_all(self) -> bool:
        """Replace one worker after the other, each when its successor is ready.

        Returns:
            Whether all are replaced. If a successor can't start, the rest keep running.
        """
        log.info("replacing %d gateway processes", len(self._slots))
        source = self._source.renewed()
        try:
            is_replaced = await self._replace_all(source)
        finally:
            if source is not self._source:
                source.close()
        if is_replaced:
            log.info("all gateway processes are replaced")
        return is_replaced

    async def _replace_all(self, source: StartsWorkers) -> bool:
        for slot in self._slots:
            async with slot.lock:
                try:
                    successor, _ = await self._ready(source)
                except WorkerFailed as error:
                    log.error("the gateway processes are not replaced: %s", error)
                    return False
                if source is not self._source:
                    self._source.close()
                    self._source = source
                successor.accept()
                slot.child, before = successor, slot.child
            await before.retire(self._timeout)
            self._alive.discard(before)
        return True

    async def aclose(self) -> None:
        """Stop all workers. Their running requests complete first."""
        await asyncio.gather(*(child.terminate(self._timeout) for child in self._alive))
        self._alive.clear()
        await self._source.aclose()

    def kill(self) -> None:
        """End all workers at once."""
        for child in self._alive:
            child.kill()

    async def _ready(self, source: StartsWorkers) -> tuple[Child, str]:
        try:
            child = await source.start()
        except OSError as error:  # too many processes or open files
            raise WorkerFailed(1, error.strerror or type(error).__name__) from error
        self._alive.add(child)
        address = await child.ready()
        if address is None:
            code = await child.ended()
            self._alive.discard(child)
            raise WorkerFailed(code, f"it ended with exit code {code}")
        return child, address

    async def _keep(self, slot: _Slot) -> None:
        while True:
            child = slot.child
            code = await child.ended()
            async with slot.lock:
                if slot.child is not child:
                    continue  # it was replaced
                self._alive.discard(child)
                log.error("the gateway process %d ended with exit code %d", child.pid, code)
                count("sluicegate.processes.failed")
                slot.child = await self._restarted(slot)

    async def _restarted(self, slot: _Slot) -> Child:
        while True:
            await asyncio.sleep(slot.next_wait())
            try:
                child, _ = await self._ready(self._source)
            except WorkerFailed as error:
                log.error("%s", error)
            else:
                child.accept()
                return child


class _Slot:
    """The place of one worker, which others take over."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.lock = asyncio.Lock()
        self._wait = _WAIT
        self._since = time.monotonic()

    def next_wait(self) -> float:
        """Seconds to wait before the next start."""
        now = time.monotonic()
        self._wait = _WAIT if now - self._since > _STABLE else min(self._wait * 2, _MOST_WAIT)
        self._since = now
        return self._wait
