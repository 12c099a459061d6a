"""Many connections at once, each asking again as soon as it was answered.

The clients share cores with the servers, so they do as little as possible: requests are encoded before,
all bodies are read into one buffer, and of a response only its status and its end are looked at.
"""

from __future__ import annotations

import gzip
import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPResponse
from itertools import cycle, islice
from urllib.parse import urlsplit

import httptools

_BUFFER = 1 << 20
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Load:
    """What it took to get all responses.

    Attributes:
        seconds: From the first request until the last response was complete.
        cpu_seconds: Of the clients.
    """

    seconds: float
    cpu_seconds: float


def ask_concurrently(
    address: str, mix: Sequence[bytes], *, connections: int, requests: int, pause: float = 0.0
) -> Load:
    """Send requests on several connections.

    Args:
        mix: Requests as `encode` makes them, which are sent in turns; 200 must be answered.
        pause: Seconds for which responses gather before the clients read them. The clients are then
            woken less often, which costs less. It must be much shorter than the time in which the
            servers answer as many requests as there are connections, or else they run out of requests.
    """
    with ExitStack() as stack:
        asking = [
            stack.enter_context(closing(_Asking(_connected(address))))
            for _ in range(min(connections, requests))
        ]
        began, began_cpu = time.perf_counter(), time.process_time()
        _ask(asking, islice(cycle(mix), requests), requests, pause)
        return Load(time.perf_counter() - began, time.process_time() - began_cpu)


def bodies(address: str, mix: Sequence[bytes]) -> list[bytes]:
    """The bodies that a server answers to the requests, decoded."""
    return [_body(address, request) for request in mix]


def _body(address: str, request: bytes) -> bytes:
    with _connected(address) as connection, HTTPResponse(connection) as response:
        connection.sendall(request)
        response.begin()
        if response.status != 200:
            raise RuntimeError(f"the server answered {response.status}")
        body = response.read()
        return gzip.decompress(body) if response.getheader("content-encoding") == "gzip" else body


def _connected(address: str) -> socket.socket:
    url = urlsplit(address)
    connection = socket.create_connection((url.hostname, url.port or 80), _TIMEOUT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _ask(asking: Sequence[_Asking], requests: Iterator[bytes], count: int, pause: float) -> None:
    by_descriptor = {each.descriptor: each for each in asking}
    buffer = memoryview(bytearray(_BUFFER))
    with select.epoll() as poll:
        for descriptor, each in by_descriptor.items():
            poll.register(descriptor, select.EPOLLIN)
            each.send(next(requests))
        while count:
            if pause:
                time.sleep(pause)
            ready = poll.poll(_TIMEOUT_SECONDS)
            if not ready:
                raise RuntimeError(f"the server has not answered for {_TIMEOUT_SECONDS} seconds")
            for descriptor, _ in ready:
                each = by_descriptor[descriptor]
                if each.is_answered(buffer):
                    count -= 1
                    request = next(requests, None)
                    if request is not None:
                        each.send(request)


class _Asking:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.descriptor = connection.fileno()
        self.close = connection.close
        self.send = connection.sendall
        self._receive = connection.recv_into
        self._parser = httptools.HttpResponseParser(self)
        self._complete = False

    def is_answered(self, buffer: memoryview) -> bool:
        """Read what has arrived. Return whether that was the end of a response."""
        size = self._receive(buffer)
        if not size:
            raise RuntimeError("the server closed the connection")
        self._parser.feed_data(buffer[:size])
        if not self._complete:
            return False
        self._complete = False
        status = self._parser.get_status_code()
        if status != 200:
            raise RuntimeError(f"the server answered {status}")
        return True

    def on_message_complete(self) -> None:
        """Called by the parser at the end of a response."""
        self._complete = True
