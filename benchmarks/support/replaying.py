"""A stand-in for a store: each response of the real one is recorded, and sent again from memory.

A gateway's store is on other machines. Where the use of cores is compared, it must not need a share of
them. Run as a process: `python -m benchmarks.support.replaying FD ENDPOINT`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop

_READING = (b"GET", b"HEAD")
_FRAMING = ("connection", "content-length", "keep-alive", "transfer-encoding")

_Key = tuple[bytes, bytes, bytes]
"""Method, target and range of a request."""


@contextmanager
def replaying_proxy(endpoint: str) -> Iterator[str]:
    """Stand in for `http://HOST:PORT` on a free loopback port, until the block ends.

    Objects and listings must not change meanwhile. Responses to requests that write are not recorded.

    Returns:
        The endpoint of the stand-in.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        descriptor = listener.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.support.replaying", str(descriptor), endpoint],
            pass_fds=[descriptor],
        )
        address = "http://{}:{}".format(*listener.getsockname())
    try:
        yield address
    finally:
        process.terminate()
        process.wait()


async def _serve(listener: socket.socket, endpoint: str) -> None:
    replies: dict[_Key, bytes] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Replaying(endpoint, replies), sock=listener)
    await server.serve_forever()


class _Replaying(asyncio.Protocol):
    """One connection of the gateway."""

    def __init__(self, endpoint: str, replies: dict[_Key, bytes]) -> None:
        self._endpoint = endpoint
        self._replies = replies
        self._parser = httptools.HttpRequestParser(self)
        self._start()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"range":
            self._range = value

    def on_message_complete(self) -> None:
        self._complete = True

    def data_received(self, data: bytes) -> None:
        self._request += data
        self._parser.feed_data(data)
        if self._complete:
            self._transport.write(self._reply((self._parser.get_method(), self._target, self._range)))
            self._start()

    def _start(self) -> None:
        self._request, self._target, self._range, self._complete = b"", b"", b"", False

    def _reply(self, key: _Key) -> bytes:
        reply = self._replies.get(key)
        if reply is None:
            reply = _asked(self._endpoint, self._request, key[0].decode())
            if key[0] in _READING:
                self._replies[key] = reply
        return reply


def _asked(endpoint: str, request: bytes, method: str) -> bytes:
    """The response of the real store, with the length of its body."""
    url = urlsplit(endpoint)
    with socket.create_connection((url.hostname, url.port or 80)) as connection:
        connection.sendall(request)
        response = HTTPResponse(connection, method=method)
        response.begin()
        body = response.read()
        headers = [each for each in response.getheaders() if each[0].lower() not in _FRAMING]
        length = response.getheader("content-length", "0") if method == "HEAD" else str(len(body))
    lines = (f"{name}: {value}\r\n" for name, value in [*headers, ("content-length", length)])
    status = f"HTTP/1.1 {response.status} {response.reason}\r\n"
    return f"{status}{''.join(lines)}\r\n".encode("latin-1") + body


if __name__ == "__main__":
    uvloop.run(_serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]))
