"""Heads that gateway and proxies could understand differently, and ids that clients choose."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme
from starlette.responses import PlainTextResponse

from sluicegate.audit.request_record import request_record
from sluicegate.audit.trail import Trail
from sluicegate.http.serving import Tls, bind, serve_app
from sluicegate.telemetry.context import current_request
from sluicegate.telemetry.middleware import RequestTelemetry


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server as all parts of the gateway use it; yields its port."""
    listener, stop, ready = bind("127.0.0.1", 0), asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(
        serve_app(
            PlainTextResponse("served"),
            listener,
            shutdown_grace_period=1,
            tls=tls,
            on_ready=lambda _: ready.set(),
            stop=stop,
            handles_signals=False,
        )
    )
    await ready.wait()
    try:
        yield listener.getsockname()[1]
    finally:
        stop.set()
        await running
        listener.close()


async def answer(port: int, head: bytes, tls: ssl.SSLContext | None = None) -> bytes:
    """Send a request, and return everything that the server sends until it closes."""
    name = None if tls is None else "localhost"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
    try:
        writer.write(head + b"connection: close\r\n\r\n")
        return await reader.read()
    finally:
        writer.close()


async def test_a_request_has_exactly_one_valid_host() -> None:
    invalid = [
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nHOST: a\r\n",
        b"GET / HTTP/1.0\r\nhost: a\r\nhost: b\r\n",
        b"GET http://a/ HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nhost: a/b\r\n",
        b"GET / HTTP/1.1\r\nhost: user@a\r\n",
        b"GET / HTTP/1.1\r\nhost: a b\r\n",
        b"GET / HTTP/1.1\r\nhost: [::1\r\n",
        b"GET / HTTP/1.1\r\nhost: a:b\r\n",
        b"GET / HTTP/1.1\r\nhost: \xff\r\n",
    ]
    valid = [
        b"GET / HTTP/1.1\r\nhost: share.example.com:8443\r\n",
        b"GET / HTTP/1.1\r\nhost: [::1]:8080\r\n",
        b"GET / HTTP/1.1\r\nhost:\r\n",
        b"GET / HTTP/1.0\r\n",
    ]
    async with serving() as port:
        for head in invalid:
            refused = await answer(port, head)
            assert refused.startswith(b"HTTP/1.1 400 "), head
            assert b"BAD_REQUEST" in refused or b"MALFORMED" in refused, refused
        for head in valid:
            served = await answer(port, head)
            assert served.startswith(b"HTTP/1.1 200 "), head
            assert b"strict-transport-security" not in served


async def test_browsers_return_only_over_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate")
    issued.private_key_pem.write_to_path(tmp_path / "key")
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    tls = Tls(str(tmp_path / "certificate"), str(tmp_path / "key")).context()
    async with serving(tls) as port:
        served = await answer(port, b"GET / HTTP/1.1\r\nhost: localhost\r\n", trusting)
    assert b"\r\nstrict-transport-security: max-age=31536000\r\n" in served


async def test_a_client_does_not_choose_the_id_of_a_record() -> None:
    """Otherwise, it could give its request the id of another one, and be taken for it."""
    ids = []

    async def app(scope: object, receive: object, send: object) -> None:
        request = current_request()
        assert request is not None
        record = request_record("queryTable", {}, Trail(), request, 200, 0)
        ids.append((record.request_id, request.client_id))

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"x-request-id", b"chosen")]}
    for _ in range(2):
        await RequestTelemetry(app)(scope, None, None)  # type: ignore[arg-type]
    (first, _), (second, client_id) = ids
    assert len({first, second, "chosen"}) == 3
    assert client_id == "chosen"
