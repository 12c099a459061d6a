"""ASGI middleware that adds an id, a span, metrics, and a line in the access log to each request."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from sluicegate.telemetry import metrics, spans
from sluicegate.telemetry.context import RequestInfo, enter_request
from sluicegate.telemetry.logs import log_fields
from sluicegate.telemetry.metrics import Instruments

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})


class Observation:
    """Creates the server span of a request and measures the request.

    The span's name consists of the method and the route template, so its cardinality is low. The query
    string is never recorded. Without a tracer, the request is only measured.
    """

    __slots__ = ("_current", "_exchange", "_instruments", "_labels", "_span")

    def __init__(self, exchange: Exchange, tracer: Tracer | None, instruments: Instruments) -> None:
        self._exchange = exchange
        self._instruments = instruments
        self._labels: dict[str, AttributeValue] = {
            "http.request.method": exchange.method if exchange.method in _METHODS else "_OTHER",
            "url.scheme": exchange.scope["scheme"],
        }
        self._span = None if tracer is None else self._started(tracer)
        self._current: AbstractContextManager[Any] = (
            nullcontext() if self._span is None else spans.current_span(self._span)
        )

    def __enter__(self) -> None:
        self._current.__enter__()
        self._instruments.active_requests.add(1, self._labels)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._instruments.active_requests.add(-1, self._labels)
        outcome = self._outcome()
        measured = {**self._labels, **outcome}
        self._instruments.requests.record(self._exchange.seconds, measured)
        self._instruments.response_bytes.record(self._exchange.sent, measured)
        if self._span is not None:
            self._describe(self._span, outcome)
        self._current.__exit__(kind, error, stack)

    def _outcome(self) -> dict[str, AttributeValue]:
        exchange = self._exchange
        outcome: dict[str, AttributeValue] = {}
        if exchange.route is not None:
            outcome["http.route"] = exchange.route
        if exchange.status is not None:
            outcome["http.response.status_code"] = exchange.status
        if exchange.error is not None:
            outcome["error.type"] = exchange.error
        elif exchange.status is not None and exchange.status >= 500:
            outcome["error.type"] = str(exchange.status)
        return outcome

    def _started(self, tracer: Tracer) -> Span:
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in self._exchange.scope["headers"]
        }
        attributes = _request_attributes(self._exchange, headers.get("user-agent"))
        return spans.start_server_span(tracer, self._name(None), headers, self._labels | attributes)

    def _describe(self, span: Span, outcome: dict[str, AttributeValue]) -> None:
        exchange = self._exchange
        span.update_name(self._name(exchange.route))
        span.set_attributes(outcome)
        span.set_attribute("http.response.body.size", exchange.sent)
        if exchange.request.recipient is not None:
            span.set_attribute("sluicegate.recipient", exchange.request.recipient)
        if exchange.disconnected:
            span.set_attribute("sluicegate.client_disconnected", True)
        if "error.type" in outcome:
            span.set_status(Status(StatusCode.ERROR))

    def _name(self, route: str | None) -> str:
        method = self._labels["http.request.method"]
        name = "HTTP" if method == "_OTHER" else str(method)
        return name if route is None else f"{name} {route}"


def _request_attributes(exchange: Exchange, user_agent: str | None) -> dict[str, AttributeValue]:
    scope = exchange.scope
    attributes: dict[str, AttributeValue] = {
        "url.path": exchange.path,
        "network.protocol.version": scope["http_version"],
        "sluicegate.request.id": exchange.request.id,
    }
    if user_agent is not None:
        attributes["user_agent.original"] = user_agent
    if scope.get("client"):
        attributes["client.address"] = scope["client"][0]
    if scope.get("server"):
        attributes["server.address"] = scope["server"][0]
    return attributes


_WELL_FORMED_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class Exchange:
    """Forwards the ASGI messages of one request and records its properties.

    Attributes:
        status: Status of the response; `None` if no response was started.
        sent: Bytes of the response body that were passed to the server.
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


_access = logging.getLogger("sluicegate.access_log")


class RequestTelemetry:
    """Wraps the entire application, so that it observes the responses of all other layers.

    Each request gets a new id, which the response and all log lines contain. A valid `x-request-id` of
    the client (1 to 128 visible ASCII characters) is logged as `client_request_id`. The line of the
    access log is written when the last byte was passed to the server, or when the client disconnects.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope. Only HTTP requests are observed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send)
        # The context isn't reset, so that the server's log line about an unhandled exception has the
        # id, too.
        enter_request(exchange.request)
        instruments = metrics.instruments()
        if instruments is None:
            await self._serve(exchange)
            return
        with Observation(exchange, spans.tracer(), instruments):
            await self._serve(exchange)

    async def _serve(self, exchange: Exchange) -> None:
        try:
            await self._app(exchange.scope, exchange.receive, exchange.send)
        except BaseException as error:
            exchange.fail(error)
            raise
        finally:
            exchange.finish()
            log_access(exchange)


def log_access(exchange: Exchange) -> None:
    """Write the request's line, at level `WARNING` if the gateway failed.

    The line has no query string, which may contain signatures or credentials.
    """
    status = exchange.status
    level = logging.WARNING if exchange.error or (status or 0) >= 500 else logging.INFO
    if not _access.isEnabledFor(level):
        return
    method, path = exchange.method, exchange.path
    fields: dict[str, object] = {
        "method": method,
        "path": path,
        "status": status,
        "duration_ms": round(exchange.seconds * 1000, 3),
        "bytes": exchange.sent,
    }
    if exchange.request.recipient is not None:
        fields["recipient"] = exchange.request.recipient
    if exchange.scope.get("client"):
        fields["client"] = exchange.scope["client"][0]
    if exchange.disconnected:
        fields["disconnected"] = True
    log_fields(_access, level, f"{method} {path} {status or '-'}", fields)
