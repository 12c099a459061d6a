"""Many connections at once, each asking again as soon as it was answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop


def ask_concurrently(address: str, request: bytes, *, connections: int, requests: int) -> float:
    """Send a request again and again; the seconds that it took until the last answer was there.

    Args:
        address: `http://HOST:PORT`.
        request: As `encode` makes it; 200 must be answered.
        connections: How many ask side by side.
        requests: How many are sent over all connections together.

    Raises:
        RuntimeError: Something else than 200 was answered, or a connection broke.
    """
    return uvloop.run(_ask(address, request, connections, requests))


async def _ask(address: str, request: bytes, connections: int, requests: int) -> float:
    url, loop = urlsplit(address), asyncio.get_running_loop()
    host, port = url.hostname or "", url.port or 80
    budget = iter(range(requests))
    asking = [
        (await loop.create_connection(partial(_Asking, request, budget), host, port))[1]
        for _ in range(connections)
    ]
    began = time.perf_counter()
    for each in asking:
        each.go_on()
    await asyncio.gather(*(each.done for each in asking))
    return time.perf_counter() - began


class _Asking(asyncio.Protocol):
    """One connection."""

    def __init__(self, request: bytes, budget: Iterator[int]) -> None:
        self.done = asyncio.get_running_loop().create_future()
        self._request = request
        self._budget = budget
        self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def go_on(self) -> None:
        if next(self._budget, None) is None:
            self.done.set_result(None)
            self._transport.close()
        else:
            self._transport.write(self._request)

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
