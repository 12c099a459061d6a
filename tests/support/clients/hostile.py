"""A client that sends what no honest one would, from an address of its choice."""

from __future__ import annotations

import asyncio
import resource
import select
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

PATIENCE_SECONDS = 20
_ANSWER_BYTES = 65_536


def connected(address: str, source: str = "127.0.0.2") -> socket.socket:
    """A connection to a server from an address of this machine: all of 127.0.0.0/8 are."""
    target = urlsplit(address)
    assert target.port is not None
    return socket.create_connection(
        (target.hostname, target.port), PATIENCE_SECONDS, source_address=(source, 0)
    )


def pour(connection: socket.socket, parts: Iterable[bytes]) -> bytes:
    """Send parts until the server answers or closes; what it answers."""
    with suppress(ConnectionError):
        for part in parts:
            if select.select([connection], [], [], 0)[0]:
                break
            connection.sendall(part)
    return answered(connection)


def answered(connection: socket.socket) -> bytes:
    """The bytes that a server sends before it closes the connection."""
    received = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(_ANSWER_BYTES):
            received += chunk
    return received


def status(answer: bytes) -> int:
    """Status of an answer, 0 for none."""
    return int(answer.split(b" ", 2)[1]) if answer else 0


@contextmanager
def crowd(address: str, size: int, sends: bytes, sources: int = 1) -> Iterator[list[socket.socket]]:
    """Open so many connections, send the same on each and nothing more, until the block ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        connections = []
        for number in range(size):
            source = f"127.0.1.{number % sources + 1}" if sources else "127.0.0.1"
            connection = opened.enter_context(connected(address, source))
            with suppress(ConnectionError):
                connection.sendall(sends)
            connections.append(connection)
        yield connections


def at_once(address: str, requests: Sequence[bytes]) -> list[bytes]:
    """Send requests at the same time, each on a connection of its own that closes; their answers."""
    return asyncio.run(_at_once(address, requests))


async def _at_once(address: str, requests: Sequence[bytes]) -> list[bytes]:
    target = urlsplit(address)
    began = asyncio.Event()

    async def send(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(target.hostname, target.port)
        opened.release()
        await began.wait()
        received = b""
        with suppress(ConnectionError):
            writer.write(request)
            received = await reader.read()
        writer.close()
        return received

    opened = asyncio.Semaphore(0)
    sending = [asyncio.create_task(send(request)) for request in requests]
    for _ in sending:
        await opened.acquire()
    began.set()
    return await asyncio.gather(*sending)


def still_open(connections: Iterable[socket.socket]) -> int:
    """How many of the connections the server has not closed."""
    return sum(map(_is_open, connections))


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(_ANSWER_BYTES):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False
