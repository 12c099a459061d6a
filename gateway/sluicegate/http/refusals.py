"""Error responses that are sent below the application, as bytes on a connection that then closes."""

from __future__ import annotations

from http import HTTPStatus

from sluicegate.api.errors import RateLimited, SluicegateError, Unavailable
from sluicegate.http.responses import error_response


class HeadTooLarge(SluicegateError):
    """A request's line, headers, and trailers are too long (RFC 6585, section 5)."""

    status = 431
    code = "REQUEST_TOO_LARGE"


class RequestTooSlow(SluicegateError):
    """A request did not arrive in time (RFC 9110, section 15.5.9)."""

    status = 408
    code = "REQUEST_TIMEOUT"


def too_many_connections() -> SluicegateError:
    """The error for reaching the limit of all connections."""
    return Unavailable("the server has too many open connections; try again later")


def too_many_connections_of_address() -> SluicegateError:
    """The error for reaching the limit of one address's connections."""
    return RateLimited("your address has too many open connections; close some and try again")


def closing_response(error: SluicegateError) -> bytes:
    """A complete HTTP/1.1 response, after which the server closes the connection."""
    refusal = error_response(error)
    headers = [*refusal.raw_headers, (b"connection", b"close")]
    head = b"".join(b"%s: %s\r\n" % header for header in headers)
    phrase = HTTPStatus(error.status).phrase.encode()
    return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (error.status, phrase, head, refusal.body)
