"""ASGI middleware that adds an id, a span, metrics, and a line in the access log to each request."""

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
