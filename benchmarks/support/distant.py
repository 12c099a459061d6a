"""A TCP proxy that delays what it forwards in each direction, like a server far away.

It runs as a process, so that it doesn't slow down the clients:
`python -m benchmarks.support.distant FD TARGET SECONDS`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True)
class DistantServer:
    """The proxy's process, and the port of this machine on which it listens."""

    pid: int
    port: int


@contextmanager
def distant(target: str, seconds: float) -> Iterator[DistantServer]:
    """Forward connections to a server until the block ends."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        descriptor, port = listener.fileno(), listener.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.support.distant", str(descriptor), target, str(seconds)],
            pass_fds=[descriptor],
        )
    try:
        yield DistantServer(process.pid, port)
    finally:
        process.terminate()
        process.wait()


async def _serve(listener: socket.socket, target: str, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    connecting: set[asyncio.Task[object]] = set()

    def accepted() -> _Forwarding:
        client, server = _Forwarding(seconds), _Forwarding(seconds)
        client.other, server.other = server, client
        task: asyncio.Task[object] = asyncio.ensure_future(
            loop.create_unix_connection(lambda: server, target)
        )
        connecting.add(task)
        task.add_done_callback(connecting.discard)
        return client

    await (await loop.create_server(accepted, sock=listener)).serve_forever()


class _Forwarding(asyncio.Protocol):
    """One end of a connection. What arrives here is written to the other end later, in order."""

    def __init__(self, seconds: float) -> None:
        self.other = self
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._arrived: deque[bytes | None] = deque()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self.other.forward()

    def data_received(self, data: bytes) -> None:
        self._loop.call_later(self._seconds, self._due, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._loop.call_later(self._seconds, self._due, None)

    def forward(self) -> None:
        """Write what is due; before the other end is connected, it waits."""
        if (transport := self.other._transport) is not None:
            while self._arrived:
                if (data := self._arrived.popleft()) is None:
                    transport.close()
                else:
                    transport.write(data)

    def _due(self, data: bytes | None) -> None:
        self._arrived.append(data)
        self.forward()


if __name__ == "__main__":
    asyncio.run(_serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], float(sys.argv[3])))
