"""A TCP proxy that takes its time: a store far away, or a busy one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SlowProxy:
    """Forwards connections to another port of this machine.

    Attributes:
        delay: Seconds that each part of a request waits; it can be changed at any time.
    """

    def __init__(self, target: int) -> None:
        self.delay = 0.0
        self.port = 0
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Listen on a free port."""
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self) -> None:
        """Close the port and all connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._accept, "127.0.0.1", self.port)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.1))
        self._loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            await asyncio.gather(
                self._pump(reader, up_writer, slow=True), self._pump(up_reader, writer, slow=False)
            )
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            up_writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, slow: bool
    ) -> None:
        while data := await reader.read(65_536):
            if slow:
                await asyncio.sleep(self.delay)
            writer.write(data)
            await writer.drain()
        writer.close()


@contextmanager
def slow_proxy(target: int) -> Iterator[SlowProxy]:
    """A proxy to a port, until the block ends."""
    proxy = SlowProxy(target)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
