"""Requests to ASGI applications without sockets, as uvicorn would pass them on, with any bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import httpx
import orjson
from starlette.types import ASGIApp, Message

HeaderList = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Request:
    """What is sent.

    Attributes:
        target: Path and query string as on the wire: ASCII, percent-encoded or not.
    """

    method: str
    target: str
    headers: HeaderList = ()
    body: bytes = b""
    leaves: bool = False
    client: tuple[str, int] = ("127.0.0.1", 1)

    @property
    def path(self) -> str:
        """The decoded path."""
        return unquote(self.target.partition("?")[0])


@dataclass(frozen=True)
class Answer:
    """What came back; header names are in lower case, and the body is decompressed."""

    status: int
    headers: dict[str, str]
    body: bytes
    cookies: tuple[str, ...] = ()  # the headers `Set-Cookie`

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        """The body as NDJSON."""
        return [orjson.loads(line) for line in self.body.splitlines()]


async def ask(
    app: ASGIApp,
    target: str,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "GET",
    body: bytes = b"",
) -> Answer:
    """The response of an application to a request."""
    return await exchange(app, Request(method, target, list((headers or {}).items()), body))


async def exchange(app: ASGIApp, request: Request) -> Answer:
    """The response of an application to a request."""
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

    await app(scope_of(request), receive, send)
    if not sent:  # to a client that went away
        return Answer(0, {}, b"")
    headers = {bytes(key).decode(): bytes(value).decode("latin-1") for key, value in sent[0]["headers"]}
    cookies = tuple(
        bytes(value).decode("latin-1") for key, value in sent[0]["headers"] if key == b"set-cookie"
    )
    if request.method == "HEAD":
        return Answer(sent[0]["status"], headers, b"", cookies)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    coding = {name: value for name, value in headers.items() if name == "content-encoding"}
    content = httpx.Response(200, headers=coding, content=body).content
    return Answer(sent[0]["status"], headers, content, cookies)


def scope_of(request: Request) -> dict[str, Any]:
    """The ASGI scope of a request."""
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
        "client": request.client,
        "server": ("127.0.0.1", 8080),
        "state": {},
    }
