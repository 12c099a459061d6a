"""Compresses responses for clients that accept it (RFC 9110, section 8.4)."""

from __future__ import annotations

import asyncio
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from isal import isal_zlib
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Level 1 of both: higher levels take several times as long, and save only a few more bytes.
_LEVEL = 1
# Bytes. Longer parts are compressed on a thread: on the event loop they would delay other requests.
_MAX_ON_LOOP = 524_288
_GZIP_WINDOW = 31  # the largest window, with the header and the checksum of gzip


class Compressor(Protocol):
    """Compresses one response."""

    def compress(self, data: bytes, *, last: bool) -> bytes:
        """Compress the next bytes of the response.

        Returns:
            All bytes that a client needs to decompress everything so far.
        """


class _Gzip:
    def __init__(self) -> None:
        self._stream = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW)

    def compress(self, data: bytes, *, last: bool) -> bytes:
        mode = isal_zlib.Z_FINISH if last else isal_zlib.Z_SYNC_FLUSH
        return self._stream.compress(data) + self._stream.flush(mode)


class _Zstandard:
    def __init__(self) -> None:
        self._stream = zstd.ZstdCompressor(_LEVEL)

    def compress(self, data: bytes, *, last: bool) -> bytes:
        stream = self._stream
        return stream.compress(data, stream.FLUSH_FRAME if last else stream.FLUSH_BLOCK)


# In order of preference, for clients that prefer none.
CODINGS: Mapping[str, Callable[[], Compressor]] = {"zstd": _Zstandard, "gzip": _Gzip}
_ALIASES = {"x-gzip": "gzip"}  # RFC 9110, section 8.4.1.3
# Clients that list `*` were often written before zstd, and decode only codings that they support.
_ANY = "gzip"
_MAX_REMEMBERED = 128  # bytes of a header's value


async def compressed(compressor: Compressor, data: bytes, *, last: bool) -> bytes:
    """Compress the next bytes of a response without blocking the event loop for long."""
    if len(data) > _MAX_ON_LOOP:
        return await asyncio.to_thread(compressor.compress, data, last=last)
    return compressor.compress(data, last=last)


def accepted_coding(values: Sequence[bytes]) -> str | None:
    """Return the coding for a response, or `None` if it must not be compressed.

    RFC 9110, section 12.5.3. Without the header, any coding would be allowed. Such clients get no
    coding, because they often cannot decode one.
    """
    if len(values) == 1 and len(values[0]) <= _MAX_REMEMBERED:
        return _remembered_coding(values[0])  # a client sends the same value with each request
    return _coding(values)


@lru_cache(maxsize=64)
def _remembered_coding(value: bytes) -> str | None:
    return _coding((value,))


def _coding(values: Iterable[bytes]) -> str | None:
    weights: dict[str, float] = {}
    for name, weight in _weighted(values):
        weights.setdefault(_ALIASES.get(name, name), weight)
    if "*" in weights:
        weights.setdefault(_ANY, weights["*"])
    offered = [(weights.get(name, 0.0), name) for name in CODINGS]
    weight, name = max(offered, key=lambda each: each[0])
    return name if weight > 0 and weight >= weights.get("identity", 0.0) else None


def _weighted(values: Iterable[bytes]) -> Iterator[tuple[str, float]]:
    for value in values:
        for element in value.decode("latin-1").lower().split(","):
            name, *parameters = (part.strip() for part in element.split(";"))
            if name:
                yield name, _weight(parameters)


def _weight(parameters: list[str]) -> float:
    """The weight of an element: from 0 to 1. An invalid weight is 0: the coding is not used."""
    if not parameters:
        return 1.0
    name, _, value = parameters[0].partition("=")
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if name.strip() == "q" and 0 <= weight <= 1 else 0.0


_GZIP = "gzip"
_RAW_DEFLATE = -15
# RFC 8878, section 3.1.1.2.4: no block is longer.
_LONGEST_BLOCK = 128 * 1024


@dataclass(frozen=True, slots=True)
class BodyEnd:
    """Completes an encoded body.

    Attributes:
        coding: The body's coding; `None` if it is not encoded.
        checksum: CRC-32 of all bytes before encoding, for gzip.
        size: Number of these bytes, for gzip.
    """

    coding: str | None
    checksum: int = 0
    size: int = 0

    def finish(self, tail: bytes) -> bytes:
        """The encoded last bytes. Empty only if `tail` is empty and the body is not encoded."""
        if self.coding is None:
            return tail
        return self._gzip(tail) if self.coding == _GZIP else _zstd(tail)

    def _gzip(self, tail: bytes) -> bytes:
        """A last block and the trailer (RFC 1952, section 2.3.1).

        Another compressor can add the block because the body was flushed to a byte boundary.
        """
        stream = zlib.compressobj(wbits=_RAW_DEFLATE)
        block = stream.compress(tail) + stream.flush()
        size = (self.size + len(tail)) % 2**32
        return block + struct.pack("<LL", zlib.crc32(tail, self.checksum), size)


class BodyEncoder:
    """Encodes a body without its last bytes."""

    def __init__(self, coding: str | None) -> None:
        self._coding = coding
        self._compressor = None if coding is None else CODINGS[coding]()
        self._checksum = 0
        self._size = 0

    async def part(self, data: bytes) -> bytes:
        """Encode the next part. The first one must not be empty: the coding's header comes with it."""
        if self._compressor is None:
            return data
        if self._coding == _GZIP:
            self._checksum = isal_zlib.crc32(data, self._checksum)
            self._size += len(data)
        return await compressed(self._compressor, data, last=False)

    @property
    def end(self) -> BodyEnd:
        """Completes the parts so far."""
        return BodyEnd(self._coding, self._checksum, self._size)

    def finish(self, tail: bytes) -> bytes:
        """The encoded last bytes; see `BodyEnd.finish`."""
        return self.end.finish(tail)


def _zstd(tail: bytes) -> bytes:
    """The last blocks of a frame without a checksum, not compressed (RFC 8878, section 3.1.1.2)."""
    blocks = [tail[at : at + _LONGEST_BLOCK] for at in range(0, len(tail), _LONGEST_BLOCK)] or [b""]
    last = len(blocks) - 1
    return b"".join(
        struct.pack("<L", len(block) << 3 | (number == last))[:3] + block
        for number, block in enumerate(blocks)
    )


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
    """Passes on the messages of one response, compressed if possible."""

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
