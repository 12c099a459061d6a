"""A proxy in front of a server that fails as a schedule says."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from soak.schedule import Fault

_CHUNK = 65_536
_SLOW_SECONDS = 0.4  # for each part of a response, which must stay below the timeouts of the gateway
_LOOK_SECONDS = 0.1
_ERROR = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 6\r\nConnection: close\r\n\r\nbroken"
)
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends RST instead of FIN


class FaultyProxy:
    """Forwards connections to a server, unless it fails.

    Responses and requests pass unchanged, with the `Host` of the proxy, so that signatures stay valid.
    """

    def __init__(self, server: str, fault: Callable[[], Fault | None]) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._fault = fault
        self.address = ""
        self.injected: Counter[Fault] = Counter()
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FaultyProxy]:
        """Listen on a free port until the block ends."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
        try:
            yield self
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._connection(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # one of the two sides is gone, or the run ends
        finally:
            self._connections.discard(task)
            writer.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._fails(Fault.REFUSE):
            _reset(writer)
            return
        up_reader, up_writer = await asyncio.open_connection(self._host, self._port)
        try:
            async with asyncio.TaskGroup() as group:
                requests = group.create_task(self._requests(reader, writer, up_writer))
                await self._responses(up_reader, writer)
                requests.cancel()
        except* OSError:
            pass
        finally:
            up_writer.close()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        while data := await reader.read(_CHUNK):
            if self._fails(Fault.REFUSE):
                _reset(writer)
                break
            if self._fails(Fault.ERROR):
                writer.write(_ERROR)
                writer.close()
                break
            if self._fails(Fault.HANG):
                while self._fault() is Fault.HANG:  # noqa: ASYNC110 (a schedule has no events)
                    await asyncio.sleep(_LOOK_SECONDS)
                _reset(writer)
                break
            up_writer.write(data)
            await up_writer.drain()
        up_writer.close()

    async def _responses(self, up_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await up_reader.read(_CHUNK):
            if self._fails(Fault.SLOW):
                await asyncio.sleep(_SLOW_SECONDS)
            for fault in (Fault.RESET, Fault.TRUNCATE):
                if self._fails(fault):
                    writer.write(data[: len(data) * 2 // 3])
                    with suppress(OSError):
                        await writer.drain()
                    if fault is Fault.RESET:
                        _reset(writer)
                    return
            writer.write(data)
            await writer.drain()

    def _fails(self, fault: Fault) -> bool:
        if self._fault() is not fault:
            return False
        self.injected[fault] += 1
        return True


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
