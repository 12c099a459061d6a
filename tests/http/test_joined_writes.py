"""The writes of one response: one for a short response, and the first line of a stream at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from sluicegate.http.joined_writes import JoinedWrites

_LONG = b"x" * 100_000


class _Transport(asyncio.Transport):
    """Records writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_closed
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


class _Exchange:
    """One request, and what is written for it."""

    def __init__(self, method: str = "GET", *, expects_continue: bool = False) -> None:
        self.transport = _Transport()
        self.completed = 0
        scope = {"type": "http", "method": method, "path": "/", "headers": []}
        logger = logging.getLogger("test")
        self._cycle = RequestResponseCycle(
            scope=scope,  # type: ignore[arg-type]
            transport=self.transport,
            flow=FlowControl(self.transport),
            logger=logger,
            access_logger=logger,
            access_log=False,
            default_headers=[],
            message_event=asyncio.Event(),
            expect_100_continue=expects_continue,
            keep_alive=True,
            on_response=self._complete,
        )
        self._cycle.more_body = False
        self._cycle.message_event.set()

    async def run(self, app: ASGIApp) -> list[bytes]:
        JoinedWrites.install(self._cycle)
        await self._cycle.run_asgi(app)  # type: ignore[arg-type]
        return self.transport.writes

    def _complete(self) -> None:
        self.completed += 1


async def test_a_short_response_is_one_write() -> None:
    exchange = _Exchange()
    (written,) = await exchange.run(Response("shares"))
    assert written.startswith(b"HTTP/1.1 200 OK\r\n")
    assert written.endswith(b"\r\n\r\nshares")
    assert exchange.completed == 1


@pytest.mark.parametrize("response", [Response(), Response(status_code=204)])
async def test_a_response_without_content_is_one_write(response: Response) -> None:
    exchange = _Exchange()
    written = b"".join(await exchange.run(response))
    assert written.endswith(b"\r\n\r\n")
    assert exchange.completed == 1


async def test_a_response_to_head_is_its_head() -> None:
    exchange = _Exchange("HEAD")
    (written,) = await exchange.run(Response("shares"))
    assert b"content-length: 6\r\n" in written
    assert written.endswith(b"\r\n\r\n")
    assert exchange.completed == 1


async def test_a_long_body_is_not_copied() -> None:
    head, body = await _Exchange().run(Response(_LONG))
    assert head.endswith(b"\r\n\r\n")
    assert body == _LONG


async def test_the_head_of_a_stream_does_not_wait_for_its_first_line() -> None:
    exchange = _Exchange()
    written_before: list[int] = []

    async def lines() -> AsyncIterator[bytes]:
        written_before.append(len(exchange.transport.writes))
        yield b"first\n"
        written_before.append(len(exchange.transport.writes))
        yield b"second\n"

    await exchange.run(StreamingResponse(lines()))
    assert written_before == [1, 2]


async def test_a_client_that_waits_for_permission_gets_it_before_the_response() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await Response("stored")(scope, receive, send)

    permission, response = await _Exchange(expects_continue=True).run(app)
    assert permission == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert response.endswith(b"stored")


async def test_a_response_that_fails_after_its_head_is_cut_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"6")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        raise RuntimeError("no body")

    exchange = _Exchange()
    (head,) = await exchange.run(app)
    assert head.endswith(b"content-length: 6\r\n\r\n")
    assert exchange.transport.is_closed
    assert "no body" in caplog.text
