"""An application with every kind of answer, and what it wrote to its log."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send
from support.servers.telemetry import SECRET, Collector, running_collector

from sluicegate.api.errors import NotFound, SluicegateError
from sluicegate.telemetry import count, name_recipient, request_id, span
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate.telemetry.setup import Shutdown, configure

log = logging.getLogger("sluicegate.test")


async def share(request: Request) -> Response:
    name_recipient("acme")
    with span("resolve", catalog="lake"):
        log.info("resolving")
        await asyncio.sleep(0)
    return JSONResponse({"request": request_id()})


async def stream(request: Request) -> Response:
    async def lines() -> AsyncIterator[bytes]:
        for _ in range(3):
            with span("sign", files=2):
                await asyncio.sleep(0)
            count("sluicegate.files.signed", 2, storage="s3")
            yield b"0123456789"

    return StreamingResponse(lines())


async def endless(request: Request) -> Response:
    async def lines() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1024
            await asyncio.sleep(0.001)

    return StreamingResponse(lines())


async def missing(request: Request) -> Response:
    with span("resolve"):
        raise NotFound("there is no such share", detail=SECRET)


async def broken(request: Request) -> Response:
    with span("store.get"):
        raise RuntimeError(f"password={SECRET}")


async def unavailable(request: Request) -> Response:
    return JSONResponse({}, 503)


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    """An application without any handling of its own."""
    raise RuntimeError(f"password={SECRET}")


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, SluicegateError)
    return JSONResponse({}, error.status)


@pytest.fixture
def app() -> RequestTelemetry:
    """Every kind of answer behind the middleware."""
    routes = [
        Route("/shares/{share}", share),
        Route("/stream", stream),
        Route("/endless", endless),
        Route("/missing", missing),
        Route("/broken", broken),
        Route("/unavailable", unavailable),
        Mount("/console", routes=[Route("/tables/{table:path}", share)]),
        Mount("/plugin", app=JSONResponse({})),
        Mount("/bare", app=bare),
    ]
    return RequestTelemetry(Starlette(routes=routes, exception_handlers={SluicegateError: _refused}))


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A running OTLP/HTTP collector."""
    with running_collector() as running:
        yield running


@pytest.fixture
def configured() -> Iterator[Callable[..., Shutdown]]:
    """`configure`, undone at the test's end."""
    shutdowns: list[Shutdown] = []

    def start(**values: Any) -> Shutdown:
        shutdowns.append(configure(**values))
        return shutdowns[-1]

    yield start
    for shutdown in reversed(shutdowns):
        shutdown()


@pytest.fixture
def log_lines(
    configured: Callable[..., Shutdown], capsys: pytest.CaptureFixture[str]
) -> Callable[[], list[dict[str, Any]]]:
    """Logging as JSON; answers the lines written since it was asked last."""
    configured(log_format="json", log_level="info")

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for line in capsys.readouterr().err.splitlines()]

    return read
