"""A gateway in this process, asked without sockets: as uvicorn would ask it, but for any bytes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

import orjson
from starlette.types import ASGIApp, Message

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.testing.secrets import keep_written

HeaderList = Sequence[tuple[str, str]]
TIMEOUT_SECONDS = 60
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """What is sent.

    Attributes:
        target: Path and query string as on the wire: ASCII, percent-encoded or not.
        leaves: The client goes away when it has sent the body, which it announced as a longer one.
    """

    method: str
    target: str
    headers: HeaderList = ()
    body: bytes = b""
    leaves: bool = False

    @property
    def path(self) -> str:
        """The decoded path."""
        return unquote(self.target.partition("?")[0])


@dataclass(frozen=True)
class Answer:
    """What came back; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        """The body as NDJSON."""
        return [orjson.loads(line) for line in self.body.splitlines()]


class InProcessGateway:
    """Sends requests to an application that runs on another thread's event loop.

    Attributes:
        sent: How many requests were answered.
    """

    def __init__(self, gateway: Gateway, loop: asyncio.AbstractEventLoop) -> None:
        self.gateway = gateway
        self.sent = 0
        self._app: ASGIApp = gateway.asgi()
        self._loop = loop

    def send(self, request: Request) -> Answer:
        """The answer; an exception of the application comes out here."""
        answering = asyncio.run_coroutine_threadsafe(_exchange(self._app, request), self._loop)
        answer = answering.result(TIMEOUT_SECONDS)
        self.sent += 1
        if answer.status >= 400:
            keep_written("errors", answer.body)
        return answer

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What work on the gateway's event loop gives."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(TIMEOUT_SECONDS)


@contextmanager
def in_process_gateway(settings: Settings) -> Iterator[InProcessGateway]:
    """A running gateway, until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    running = Gateway.running(settings)
    try:
        gateway = asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result(TIMEOUT_SECONDS)
        try:
            yield InProcessGateway(gateway, loop)
        finally:
            closing = running.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(closing, loop).result(TIMEOUT_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _exchange(app: ASGIApp, request: Request) -> Answer:
    sent: list[Message] = []
    arriving = [{"type": "http.request", "body": request.body, "more_body": request.leaves}]

    async def receive() -> Message:
        if arriving:
            return arriving.pop(0)
        if not request.leaves:
            await asyncio.Event().wait()  # the client waits for its answer
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(_scope(request), receive, send)
    if not sent:  # to a client that went away
        return Answer(0, {}, b"")
    headers = {bytes(key).decode(): bytes(value).decode("latin-1") for key, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], headers, b"" if request.method == "HEAD" else body)


def _scope(request: Request) -> dict[str, Any]:
    path, _, query = request.target.partition("?")
    headers = [(key.lower().encode(), value.encode("latin-1")) for key, value in request.headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8080),
        "state": {},
    }
