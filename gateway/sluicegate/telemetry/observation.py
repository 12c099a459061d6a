"""The server span and the metrics of a request (OpenTelemetry semantic conventions, "HTTP server")."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from sluicegate.telemetry import spans
from sluicegate.telemetry.exchange import Exchange
from sluicegate.telemetry.metrics import Instruments

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
