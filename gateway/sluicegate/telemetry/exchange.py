"""Observes one request and its response between the server and the application."""

from __future__ import annotations

import asyncio
import random
import re
from time import perf_counter
from typing import TYPE_CHECKING

from sluicegate.telemetry.context import RequestInfo

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

_WELL_FORMED_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class Exchange:
    """Forwards the ASGI messages of one request and records its properties.

    Attributes:
        status: Status of the response; `None` if no response was started.
        sent: Bytes of the response body that were passed to the server.
        complete: Whether the entire response was passed to the server.
        disconnected: Whether the client disconnected before that.
        error: Type of the exception that the application did not handle.
        seconds: Time from the arrival of the request to the return of the application.
    """

    __slots__ = (
        *("scope", "request", "status", "sent", "complete", "disconnected", "error", "seconds"),
        *("_receive", "_send", "_started", "_has_body"),
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._started = perf_counter()
        self._receive = receive
        self._send = send
        self._has_body = scope["method"] != "HEAD"
        self.scope = scope
        self.request = RequestInfo(_new_id(), _client_id(scope))
        self.status: int | None = None
        self.sent = 0
        self.complete = False
        self.disconnected = False
        self.error: str | None = None
        self.seconds = 0.0

    @property
    def method(self) -> str:
        """The request's method, as it was sent."""
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        """The path as it was sent: percent-encoded, without the query string."""
        raw: bytes | None = self.scope.get("raw_path")
        return str(self.scope["path"]) if raw is None else raw.decode("latin-1")

    @property
    def route(self) -> str | None:
        """Template of the path, available after the application has routed the request."""
        route = self.scope.get("route")
        template: str | None = getattr(route, "path_format", None)
        if template is None:
            return None
        root = str(self.scope.get("root_path", ""))
        # A mount has put its own path into the root path already.
        return f"{root}/{{path}}" if hasattr(route, "routes") else root + template

    async def receive(self) -> Message:
        """The client's next message."""
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self.complete:
            self.disconnected = True
        return message

    async def send(self, message: Message) -> None:
        """Pass a message of the response to the server, with the request's headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            header = (b"x-request-id", self.request.id.encode())
            more = () if self.request.headers is None else self.request.headers()
            message = {**message, "headers": [*message.get("headers", ()), header, *more]}
        try:
            await self._send(message)
        except OSError:  # ASGI: the connection is closed
            self.disconnected = True
            raise
        if message["type"] == "http.response.body":
            if self._has_body:
                self.sent += len(message.get("body", b""))
            self.complete = not message.get("more_body", False)

    def fail(self, error: BaseException) -> None:
        """Record an unhandled exception, for which the server sends 500 if no response was started."""
        if isinstance(error, Exception | asyncio.CancelledError) and not self.disconnected:
            self.error = type(error).__name__
            self.status = self.status or 500

    def finish(self) -> None:
        """Stop the clock."""
        self.seconds = perf_counter() - self._started


def _new_id() -> str:
    # An id is no secret. The system's random numbers take ten times as long.
    return f"{random.getrandbits(128):032x}"


def _client_id(scope: Scope) -> str | None:
    """Return the client's id if it is valid: 1 to 128 visible ASCII characters."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            return str(value, "ascii") if _WELL_FORMED_ID.fullmatch(value) else None
    return None
