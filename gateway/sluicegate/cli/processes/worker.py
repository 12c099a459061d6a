"""The side of a worker: it serves on its supervisor's socket, and stops when the supervisor says so."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, suppress

from sluicegate._util.tasks import cancel_all
from sluicegate.cli.metrics.exporter import Exporter
from sluicegate.cli.processes.forking import report_modules
from sluicegate.cli.processes.sockets import WorkerSockets
from sluicegate.config import Settings
from sluicegate.http.shared_listener import ProcessCounts
from sluicegate.server.serve import serve_on


async def serve_as_worker(settings: Settings, sockets: WorkerSockets, exporter: Exporter) -> None:
    """Serve on the inherited socket until the supervisor stops this worker, or until a signal."""
    accept, stop = asyncio.Event(), asyncio.Event()
    reader, writer = await asyncio.open_connection(sock=_own(sockets.control))

    async def begin(address: str) -> None:
        report_modules(sockets)
        writer.write(f"{address}\n".encode())
        if sockets.waits:
            await accept.wait()

    watching = asyncio.create_task(_watch(reader, accept, stop))
    listener = _own(sockets.listener)
    share = ProcessCounts(sockets.counts).share(sockets.place)
    try:
        async with AsyncExitStack() as stack:
            if sockets.metrics is not None:
                from sluicegate.cli.processes.metrics import answering

                await stack.enter_async_context(answering(_own(sockets.metrics), exporter.collect))
            await serve_on(listener, settings, begin=begin, stop=stop, share=share)
    finally:
        listener.close()
        await cancel_all(watching)
        writer.close()


async def _watch(reader: asyncio.StreamReader, accept: asyncio.Event, stop: asyncio.Event) -> None:
    with suppress(OSError):  # a supervisor that was killed can reset its end
        while await reader.read(1):
            accept.set()
    stop.set()
    accept.set()


def _own(descriptor: int) -> socket.socket:
    """The socket, which this process does not pass on to processes that plugins start."""
    found = socket.socket(fileno=descriptor)
    found.set_inheritable(False)
    found.setblocking(False)
    return found
