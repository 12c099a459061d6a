"""HTTP responses of all protocols: JSON, NDJSON streams, errors as JSON, and headers of pages."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from sluicegate.api.errors import (
    ConfigurationError,
    MethodNotAllowed,
    NotAuthenticated,
    NotFound,
    RateLimited,
    SluicegateError,
    Unauthenticated,
    Unavailable,
)
from sluicegate.telemetry.context import note_error

log = logging.getLogger(__name__)

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson; charset=utf-8"
RETRY_AFTER_SECONDS = "5"
# For responses with URLs, credentials, or a table's bytes, which caches must not store (RFC 9111,
# section 5.2.2). `private` is for caches that do not support `no-store`.
NOT_STORED: Mapping[str, str] = {"Cache-Control": "private, no-store"}
_PAGE_POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(value), status, headers=headers, media_type=JSON)


class GeneratedResponse(StreamingResponse):
    """A stream of an asynchronous generator, which is closed however the response ends.

    Otherwise a stream that was refused, or whose client has disconnected, would hold what it reads
    until the garbage collector finds it.
    """

    def __init__(
        self, parts: AsyncIterator[bytes], headers: Mapping[str, str], media_type: str
    ) -> None:
        super().__init__(parts, headers=headers, media_type=media_type)
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if isinstance(self._parts, AsyncGenerator):
                await self._parts.aclose()


def ndjson_response(lines: bytes | AsyncIterator[bytes], headers: Mapping[str, str]) -> Response:
    """NDJSON lines, complete or sent batch by batch. They can contain URLs, so they are not cached."""
    headers = {**headers, **NOT_STORED}
    if isinstance(lines, bytes):
        return Response(lines, headers=headers, media_type=NDJSON)
    return GeneratedResponse(lines, headers, NDJSON)


def page_headers(*, referrer: str = "no-referrer", **sources: str) -> Mapping[str, str]:
    """The headers of an HTML page, which loads nothing from elsewhere and is stored nowhere."""
    directives = _PAGE_POLICY | {name.replace("_", "-"): value for name, value in sources.items()}
    return {
        **NOT_STORED,
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in directives.items()),
        "Referrer-Policy": referrer,
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex, nofollow",
    }


def error_body(error: SluicegateError) -> dict[str, Any]:
    """The usual error format: `{"errorCode", "message"}`."""
    return {"errorCode": error.code, "message": error.message}


def error_response(
    error: SluicegateError, body: Callable[[SluicegateError], dict[str, Any]] = error_body
) -> Response:
    """An error in a protocol's format, with the HTTP headers that its status requires."""
    error = sent_error(error)
    headers = dict(NOT_STORED)
    if isinstance(error, Unauthenticated):
        # RFC 6750, section 3.1: `invalid_token` applies only if a token was sent.
        missing = isinstance(error, NotAuthenticated)
        default = "Bearer" if missing else 'Bearer error="invalid_token"'
        headers["WWW-Authenticate"] = error.challenge or default
    elif isinstance(error, MethodNotAllowed):
        headers["Allow"] = error.allowed
    elif error.status in (429, 503):
        seconds = error.retry_after if isinstance(error, RateLimited) else None
        headers["Retry-After"] = RETRY_AFTER_SECONDS if seconds is None else str(seconds)
    return json_response(body(error), error.status, headers)


def sent_error(error: SluicegateError) -> SluicegateError:
    """The error in the response: recipients don't see problems of the configuration."""
    if isinstance(error, ConfigurationError):
        return Unavailable(
            "the gateway's configuration does not allow it to serve this request",
            detail=error.for_operators,
        )
    return error


def log_error(error: SluicegateError) -> None:
    """Log one line for the operator, with the private detail. Client errors have a lower level.

    The audit record of the request names what decided when the error was raised.
    """
    note_error(error)
    level = logging.WARNING if error.status >= 500 or error.detail else logging.INFO
    log.log(level, "%s: %s", error.code, error.for_operators)


def as_sluicegate_error(error: Exception) -> SluicegateError:
    """The error that recipients see, after a line for the operator is logged.

    Unexpected errors are logged in full and reported to the recipient without any detail.
    """
    if isinstance(error, HTTPException):
        error = _of_http(error)
    if isinstance(error, SluicegateError):
        log_error(error)
        return error
    note_error(error)
    log.error("unexpected %s", type(error).__name__, exc_info=error)
    return SluicegateError("an internal error occurred; report the request id to the provider")


def _of_http(error: HTTPException) -> SluicegateError:
    if error.status_code == 405:
        return MethodNotAllowed((error.headers or {}).get("Allow", ""))
    if error.status_code == 404:
        return NotFound("there is no such route")
    return SluicegateError(str(error.detail))
