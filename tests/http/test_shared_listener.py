"""Processes with a common listener get equal parts of its connections, and none is left waiting."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme

from sluicegate.http import shared_listener as module
from sluicegate.http.shared_listener import Acceptor, ProcessCounts

SECONDS = 10


class Connected(asyncio.Protocol):
    """The server's side of the connections."""

    def __init__(self, all_: list[asyncio.BaseTransport]) -> None:
        self._all = all_

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._all.append(transport)


class Listener(socket.socket):
    """A listener whose process can have too many open files."""

    error: OSError | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        error, self.error = self.error, None
        if error is not None:
            raise error
        return super().accept()


@pytest.fixture
def counts() -> Iterator[ProcessCounts]:
    """The places of two processes; the first is this one."""
    with ProcessCounts.with_places(2) as counts:
        assert (counts.take(), counts.take()) == (0, 1)
        yield counts


@asynccontextmanager
async def accepting(
    counts: ProcessCounts, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[Listener, list[asyncio.BaseTransport], Acceptor]]:
    connected: list[asyncio.BaseTransport] = []
    with Listener(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        acceptor = Acceptor(
            listener, lambda: Connected(connected), counts.share(0), connected.__len__, tls=tls
        )
        try:
            yield listener, connected, acceptor
        finally:
            await acceptor.aclose()
            for transport in connected:
                transport.close()


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not is_true():  # noqa: ASYNC110 (the server's side says nothing)
            await asyncio.sleep(0.001)


async def test_a_process_leaves_connections_to_one_that_has_fewer(
    counts: ProcessCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 1_000_000)
    counts.share(1).publish(3)
    async with accepting(counts) as (listener, connected, _):
        clients = [socket.create_connection(listener.getsockname()) for _ in range(8)]
        await until(lambda: len(connected) == 4)
        await asyncio.sleep(0.05)
        assert len(connected) == 4
        counts.share(1).publish(5)
        await until(lambda: len(connected) == 6)
        counts.share(1).leave()
        await until(lambda: len(connected) == 8)
        for client in clients:
            client.close()


async def test_a_process_accepts_what_another_leaves_waiting(counts: ProcessCounts) -> None:
    counts.share(1).publish(0)
    async with accepting(counts) as (listener, connected, _):
        clients = [socket.create_connection(listener.getsockname()) for _ in range(40)]
        await until(lambda: len(connected) == 40)
        for client in clients:
            client.close()


async def test_accepting_goes_on_when_files_can_be_opened_again(
    counts: ProcessCounts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    async with accepting(counts) as (listener, connected, _):
        listener.error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        with socket.create_connection(listener.getsockname()):
            await until(lambda: len(connected) == 1)
    assert "cannot accept connections: Too many open files" in caplog.text


async def test_connections_are_established_after_the_handshake(counts: ProcessCounts) -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with accepting(counts, tls) as (listener, connected, _):
        host, port = listener.getsockname()
        _, writer = await asyncio.open_connection(host, port, ssl=trusting)
        await until(lambda: len(connected) == 1)
        assert connected[0].get_extra_info("ssl_object") is not None
        writer.close()


async def test_a_failed_handshake_no_longer_counts(counts: ProcessCounts) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(tls)
    other = counts.share(1)
    async with accepting(counts, tls) as (listener, connected, _):
        with socket.create_connection(listener.getsockname()) as client:
            other.publish(0)
            await until(other_has_less := counts.share(0).is_exceeded)
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            await until(lambda: not other_has_less())
        assert connected == []


async def test_a_closed_acceptor_accepts_nothing_and_takes_no_part(counts: ProcessCounts) -> None:
    async with accepting(counts) as (listener, connected, acceptor):
        address = listener.getsockname()
        acceptor.close()
        acceptor.publish()
        other = counts.share(1)
        other.publish(100)
        assert not other.is_exceeded()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        assert connected == []
