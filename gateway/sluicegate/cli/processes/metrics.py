"""Passes the metrics of workers to their supervisor, which serves those of all processes.

A worker answers each byte with a frame: the length in four bytes, and the metrics. When it stops, it
sends a last one, so that nothing is lost that it has counted.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from prometheus_client import Metric

from sluicegate._util.tasks import cancel_all
from sluicegate.telemetry.export.joined import JoinedFamilies, decode, encode

log = logging.getLogger(__name__)

Collect = Callable[[], Awaitable[Sequence[Metric]]]

SUPERVISOR = "supervisor"
# Seconds that a busy worker has for its answer. After that, its previous values count. Prometheus waits
# for 10 seconds by default.
_TIMEOUT = 3.0
_LONGEST = 64_000_000
_LENGTH = 4


class WorkerMetrics:
    """The metrics of all processes, as their supervisor collects them."""

    def __init__(self, own: Collect) -> None:
        self._own = own
        self._joined = JoinedFamilies()
        self._workers: dict[int, _Worker] = {}
        self._reading: set[asyncio.Task[None]] = set()

    async def add(self, place: int, sock: socket.socket) -> None:
        """Collect the metrics of another worker until it ends."""
        worker = _Worker(place, *await asyncio.open_connection(sock=sock))
        reading = asyncio.create_task(self._read(worker))
        self._reading.add(reading)
        reading.add_done_callback(self._reading.discard)

    async def collect(self) -> list[Metric]:
        """Return the metrics of all processes."""
        await asyncio.gather(*(worker.refresh(_TIMEOUT) for worker in self._workers.values()))
        own = await self._own()
        running = {str(worker.place): worker.latest for worker in self._workers.values()}
        return self._joined.join({SUPERVISOR: own, **running})

    async def aclose(self) -> None:
        """Stop to collect."""
        await cancel_all(*self._reading)

    async def _read(self, worker: _Worker) -> None:
        # A worker that has just ended can still have the same place.
        key = id(worker)
        self._workers[key] = worker
        try:
            await worker.read()
        except ValueError as error:
            log.warning("the metrics of a gateway process are not valid: %s", error)
        finally:
            del self._workers[key]
            self._joined.retire(worker.latest)


class _Worker:
    """One worker, and its latest metrics."""

    def __init__(self, place: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.place = place
        self.latest: list[Metric] = []
        self._reader = reader
        self._writer = writer
        self._changed = asyncio.Event()

    async def refresh(self, seconds: float) -> None:
        """Wait for newer metrics, for a limited time."""
        self._changed.clear()
        self._writer.write(b"?")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    async def read(self) -> None:
        """Read metrics until the worker ends."""
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(_LENGTH))
                if length > _LONGEST:
                    raise ValueError(f"{length} bytes")
                self.latest = await asyncio.to_thread(decode, await self._reader.readexactly(length))
                self._changed.set()
        except (asyncio.IncompleteReadError, OSError):
            pass  # it has ended
        finally:
            self._changed.set()
            self._writer.close()


@asynccontextmanager
async def answering(sock: socket.socket, collect: Collect) -> AsyncIterator[None]:
    """Send the metrics of this worker to its supervisor: at each request and at the end."""
    reader, writer = await asyncio.open_connection(sock=sock)

    async def send() -> None:
        data = await asyncio.to_thread(encode, await collect())
        writer.write(len(data).to_bytes(_LENGTH) + data)
        await writer.drain()

    async def answer() -> None:
        with suppress(OSError):  # the supervisor has ended, and this worker is about to stop
            while await reader.read(64):
                await send()

    answer_task = asyncio.create_task(answer())
    try:
        yield
    finally:
        await cancel_all(answer_task)
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(send(), _TIMEOUT)
        writer.close()
