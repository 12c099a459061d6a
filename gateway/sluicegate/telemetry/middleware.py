"""Pure ASGI middleware: an id, a span, metrics and one line in the access log for every request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sluicegate.telemetry import metrics, spans
from sluicegate.telemetry.context import enter_request
from sluicegate.telemetry.exchange import Exchange
from sluicegate.telemetry.logs import log_fields
from sluicegate.telemetry.observation import Observation

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_access = logging.getLogger("sluicegate.access")


class RequestTelemetry:
    """Wraps the whole application, so that it sees what every other layer answers.

    A well-formed `x-request-id` of the client (1 to 128 visible ASCII characters) is the request's id,
    else a new one is made; the response carries it, and so do all log lines. The access log has its
    line when the last byte was handed to the server, or the client went away before.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope; only HTTP requests are observed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send)
        # Not reset at the end: the server's line about an exception that got through has the id, too.
        enter_request(exchange.request)
        tracer, instruments = spans.tracer(), metrics.instruments()
        if tracer is None or instruments is None:
            await self._serve(exchange)
            return
        with Observation(exchange, tracer, instruments):
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
    """Write the request's line; what failed on this side is a warning.

    It has no query string, which may sign or authenticate.
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
