"""Many connections at once, each asking again as soon as it was answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop


def ask_concurrently(address: str, mix: Sequence[bytes], *, connections: int, requests: int) -> float:
    """Send requests on several connections; the seconds until the last response was complete.

    Args:
        address: `http://HOST:PORT`.
        mix: Requests as `encode` makes them, which are sent in turns; 200 must be answered.
        connections: How many ask side by side.
        requests: How many are sent over all connections together.

    Raises:
        RuntimeError: Something else than 200 was answered, or a connection broke.
    """
    return uvloop.run(_ask(address, mix, connections, requests))


async def _ask(address: str, mix: Sequence[bytes], connections: int, requests: int) -> float:
    url, loop = urlsplit(address), asyncio.get_running_loop()
    host, port = url.hostname or "", url.port or 80
    budget = islice(cycle(mix), requests)
    asking = [
        (await loop.create_connection(partial(_Asking, budget), host, port))[1]
        for _ in range(connections)
    ]
    began = time.perf_counter()
    for each in asking:
        each.go_on()
    await asyncio.gather(*(each.done for each in asking))
    return time.perf_counter() - began


class _Asking(asyncio.Protocol):
    """One connection."""

    def __init__(self, budget: Iterator[bytes]) -> None:
        self.done = asyncio.get_running_loop().create_future()
        self._budget = budget
        self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def go_on(self) -> None:
        request = next(self._budget, None)
        if request is None:
            self.done.set_result(None)
            self._transport.close()
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status == 200:
            self.go_on()
        else:
            self.done.set_exception(RuntimeError(f"the server answered {status}"))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError("the server closed the connection"))
