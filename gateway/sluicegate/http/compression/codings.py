"""Content codings that responses can have, and which of them a client accepts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from isal import isal_zlib

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

        Args:
            data: The next bytes.
            last: No bytes follow.

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

    Args:
        values: The values of the request's `Accept-Encoding` headers.
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
