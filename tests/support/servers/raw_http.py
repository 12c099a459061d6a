"""Bytes to a port and back: for what no HTTP client would send."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

TIMEOUT_SECONDS = 20
PATIENCE_SECONDS = 0.15
_CHUNK = 65_536
_LENGTH = re.compile(rb"^content-length: (\d+)", re.IGNORECASE | re.MULTILINE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True)
class RawAnswer:
    """One answer on a connection."""

    status: int
    head: bytes
    body: bytes

    @property
    def is_error(self) -> bool:
        """The body is an error of the gateway's one spelling, and the head says so."""
        keys = {"errorCode", "message"}
        return b"application/json" in self.head and orjson.loads(self.body).keys() == keys


def send_raw(address: str, *parts: bytes) -> list[RawAnswer]:
    """Send bytes and nothing more; all answers until the server closes the connection.

    Where none comes soon, the server waits for more: then the client ends its side.
    """
    target = urlsplit(address)
    with socket.create_connection((target.hostname, target.port), TIMEOUT_SECONDS) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            return list(_answers(b"".join(_received(connection))))
        except TimeoutError:
            raise
        except OSError:
            return []  # closed before everything was read


def _received(connection: socket.socket) -> Iterator[bytes]:
    connection.settimeout(PATIENCE_SECONDS)
    with suppress(TimeoutError):
        yield connection.recv(_CHUNK)
    connection.settimeout(TIMEOUT_SECONDS)
    connection.shutdown(socket.SHUT_WR)
    while chunk := connection.recv(_CHUNK):
        yield chunk


def _answers(received: bytes) -> Iterator[RawAnswer]:
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if length is not None:
            end = int(length[1])
        elif b"transfer-encoding: chunked" in head.lower():
            end = received.find(_LAST_CHUNK) + len(_LAST_CHUNK)
        else:
            end = 0
        yield RawAnswer(int(head.split(b" ", 2)[1]), head, received[:end])
        received = received[end:]
