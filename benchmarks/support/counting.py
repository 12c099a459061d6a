"""A proxy in front of a store that counts the requests, and changes nothing of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httptools
import uvloop

_CHUNK = 1 << 20


@dataclass
class CountingProxy:
    """Requests that went through it so far.

    The `Host` header is passed on as it was sent, so signatures made for the proxy's address stay
    valid at a store that checks them against that header.
    """

    endpoint: str = ""
    requests: int = 0

    def on_message_complete(self) -> None:
        """Called by httptools at the end of each request."""
        self.requests += 1


@contextmanager
def counting_proxy(endpoint: str) -> Iterator[CountingProxy]:
    """Stand in front of `http://HOST:PORT` on a free loopback port, until the block ends."""
    proxy, loop = CountingProxy(), uvloop.new_event_loop()
    listening = threading.Event()
    thread = threading.Thread(target=_run, args=(loop, proxy, endpoint, listening), daemon=True)
    thread.start()
    listening.wait()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _run(
    loop: asyncio.AbstractEventLoop, proxy: CountingProxy, endpoint: str, listening: threading.Event
) -> None:
    target = urlsplit(endpoint)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        store_reader, store_writer = await asyncio.open_connection(target.hostname, target.port)
        parser = httptools.HttpRequestParser(proxy)
        await asyncio.gather(
            _pass_on(reader, store_writer, parser), _pass_on(store_reader, writer, None)
        )

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0))
    proxy.endpoint = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
    listening.set()
    loop.run_forever()
    server.close()
    loop.close()


async def _pass_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    parser: httptools.HttpRequestParser | None,
) -> None:
    while data := await reader.read(_CHUNK):
        if parser is not None:
            parser.feed_data(data)
        writer.write(data)
        await writer.drain()
    writer.close()
