"""Compresses responses for clients that accept it (RFC 9110, section 8.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.http.compression.codings import CODINGS, Compressor, accepted_coding, compressed

# Bytes. Shorter responses fit into a few packets, compressed or not.
MIN_SIZE = 4_096
# Files of tables are compressed already, and clients read ranges of them.
_COMPRESSIBLE = ("application/json", "application/x-ndjson", "text/")
_WITHOUT_CONTENT = frozenset({204, 206, 304})
_SCOPE_KEY = "sluicegate.content_coding"


class Compression:
    """Compresses streams, and JSON of at least 4 KiB.

    Each part of a stream is sent when the application sends it, so that compression does not delay the
    first lines.

    Args:
        app: The application.
        announce: Whether the application can encode a response itself, with the coding that `coding_of`
            returns. Nothing between this middleware and the application must read the bodies.
    """

    def __init__(self, app: ASGIApp, *, announce: bool = False) -> None:
        self._app = app
        self._announce = announce

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve a scope; only responses to HTTP requests are compressed."""
        if scope["type"] != "http" or scope["method"] == "HEAD":
            return self._app(scope, receive, send)
        values = [value for name, value in scope["headers"] if name == b"accept-encoding"]
        coding = accepted_coding(values) if values else None
        if self._announce:
            scope[_SCOPE_KEY] = coding
        return self._app(scope, receive, _Response(coding, send).send)


def coding_of(scope: Mapping[str, Any]) -> str | None:
    """The coding in which the application can encode the response itself. `None` for no coding.

    The response then needs the headers of `coded_headers`.
    """
    coding: str | None = scope.get(_SCOPE_KEY)
    return coding


def coded_headers(coding: str | None) -> dict[str, str]:
    """The headers of a response that the application encodes, also if this client accepts no coding."""
    varying = {"Vary": "Accept-Encoding"}
    return varying if coding is None else {**varying, "Content-Encoding": coding}


class _Response:
    """Passes on the messages of one response, compressed if possible.

    Attributes:
        _held: The start of a response of known length. It waits for the body's first part, whose
            compression changes the length.
    """

    __slots__ = ("_coding", "_compressor", "_held", "_send")

    def __init__(self, coding: str | None, send: Send) -> None:
        self._coding = coding
        self._send = send
        self._compressor: Compressor | None = None
        self._held: Message | None = None

    def send(self, message: Message) -> Awaitable[None]:
        """Pass on one message."""
        if message["type"] == "http.response.start":
            return self._send(message) if _is_short(message) else self._start(message)
        if self._compressor is None:
            return self._send(message)
        return self._part(message, self._compressor)

    async def _start(self, message: Message) -> None:
        headers = MutableHeaders(raw=[*message.get("headers", ())])
        if _is_compressible(message["status"], headers):
            if "accept-encoding" not in headers.get("vary", "").lower():
                headers.add_vary_header("Accept-Encoding")
            message = {**message, "headers": headers.raw}
            if self._coding is not None:
                self._compressor = CODINGS[self._coding]()
                _describe(headers, self._coding)
                if "content-length" in headers:
                    self._held = message
                    return
        await self._send(message)

    async def _part(self, message: Message, compressor: Compressor) -> None:
        data, last = message.get("body", b""), not message.get("more_body", False)
        if data or last:
            data = await compressed(compressor, data, last=last)
        start, self._held = self._held, None
        if start is not None:
            headers = MutableHeaders(raw=start["headers"])
            if last:
                headers["Content-Length"] = str(len(data))
            else:
                del headers["Content-Length"]
            await self._send(start)
        await self._send({**message, "body": data})


def _is_compressible(status: int, headers: MutableHeaders) -> bool:
    return (
        status not in _WITHOUT_CONTENT
        and headers.get("content-type", "").startswith(_COMPRESSIBLE)
        and "content-encoding" not in headers
        and "no-transform" not in headers.get("cache-control", "")
    )


def _is_short(start: Message) -> bool:
    """Whether a response is known to be too short. Most are, so this comes first and copies nothing."""
    for name, value in start.get("headers", ()):
        if name == b"content-length":
            return int(value) < MIN_SIZE
    return False


def _describe(headers: MutableHeaders, coding: str) -> None:
    headers["Content-Encoding"] = coding
    etag = headers.get("etag")
    if etag is not None and not etag.startswith("W/"):
        # RFC 9110, section 8.8.3.3: a strong tag would also stand for the bytes of other codings.
        headers["ETag"] = f"W/{etag}"
