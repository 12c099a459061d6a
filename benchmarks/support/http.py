"""A client that costs little: one kept-alive connection, the body counted and thrown away."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httptools

_CHUNK = 1 << 20
_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Answer:
    """What came back, and when.

    Attributes:
        size: Bytes of the body.
        first_byte_seconds: From the request to the first byte of the body.
        total_seconds: From the request to the body's end.
    """

    status: int
    size: int
    lines: int
    first_byte_seconds: float
    total_seconds: float


class Connection:
    """Sends requests one after the other to `http://HOST:PORT`."""

    def __init__(self, address: str) -> None:
        url = urlsplit(address)
        self._socket = socket.create_connection((url.hostname, url.port or 80), _TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._socket.close()

    def ask(self, request: bytes, expected: int = 200) -> Answer:
        """Send a request and read its answer to the end."""
        reading = _Reading()
        parser = httptools.HttpResponseParser(reading)
        began = time.perf_counter()
        self._socket.sendall(request)
        while not reading.complete:
            data = self._socket.recv(_CHUNK)
            if not data:
                raise RuntimeError("the server closed the connection within an answer")
            parser.feed_data(data)
        status = parser.get_status_code()
        if status != expected:
            raise RuntimeError(f"the server answered {status}")
        return Answer(
            status,
            reading.size,
            reading.lines,
            (reading.first_byte_at or time.perf_counter()) - began,
            time.perf_counter() - began,
        )


def encode(method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> bytes:
    """A request as it goes over the wire."""
    parts = urlsplit(url)
    lines = {"host": parts.netloc, **(headers or {})}
    if body:
        lines["content-length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body


class _Reading:
    """What httptools tells of one answer."""

    def __init__(self) -> None:
        self.size = self.lines = 0
        self.first_byte_at: float | None = None
        self.complete = False

    def on_body(self, data: bytes) -> None:
        if self.first_byte_at is None:
            self.first_byte_at = time.perf_counter()
        self.size += len(data)
        self.lines += data.count(b"\n")

    def on_message_complete(self) -> None:
        self.complete = True
