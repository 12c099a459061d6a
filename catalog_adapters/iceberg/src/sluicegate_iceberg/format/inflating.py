"""Decompresses in pieces, and counts each piece against the budget before it is kept."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pyarrow as pa

from sluicegate.api import Budget, TableTooLarge

# Longer texts are rejected, because parsing blocks everything else. Metadata of tables with very many
# columns and snapshots has tens of megabytes.
LONGEST_JSON = 256 << 20
_VALUE = 72  # bytes of a small value and its slot in a list; most need less


def take_json(text: bytes | bytearray, what: str, budget: Budget) -> None:
    """Count the memory that a parsed text will need, because some parsers have no limit.

    Every value is next to one of these characters. Some occur in strings and are also counted, so the
    estimate is too high rather than too low.
    """
    check_length(len(text), what)
    values = sum(map(text.count, (b",", b":", b"[", b"{")))
    budget.take(what, bytes=len(text) + _VALUE * values)


def check_length(length: int, what: str) -> None:
    """Ensure that a text doesn't exceed the maximum length."""
    if length > LONGEST_JSON:
        raise TableTooLarge(f"{what} of the table has more than {LONGEST_JSON} bytes of JSON")


PIECE = 1 << 20  # bytes
_INPUT = 1 << 16  # bytes to decompress at once, because the unused rest is copied
GZIP, RAW_DEFLATE = 16 + zlib.MAX_WBITS, -zlib.MAX_WBITS
_CHECKSUM = 4  # bytes after a block of Snappy
_LONGEST_SNAPPY = 64 << 20  # bytes, because such a block can't be decompressed in pieces


def inflated(data: memoryview, format_: int, budget: Budget, what: str) -> Iterator[bytes]:
    """Yield decompressed pieces of zlib data."""
    inflate = zlib.decompressobj(format_)
    for start in range(0, len(data), _INPUT):
        rest: bytes | memoryview = data[start : start + _INPUT]
        while rest:
            if inflate.eof:
                # A gzip file can consist of several members (RFC 1952, section 2.2).
                if format_ != GZIP:
                    return
                inflate = zlib.decompressobj(format_)
            if piece := inflate.decompress(rest, PIECE):
                budget.take(what, bytes=len(piece))
                yield piece
            rest = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
    yield from _end(inflate, budget, what)


def _end(inflate: zlib._Decompress, budget: Budget, what: str) -> Iterator[bytes]:
    """Yield the remaining output."""
    while not inflate.eof:
        piece = inflate.decompress(b"", PIECE)
        if not piece:
            raise EOFError("compressed data is truncated")
        budget.take(what, bytes=len(piece))
        yield piece


def from_zstandard(data: memoryview, budget: Budget, what: str) -> Iterator[bytes]:
    """Yield decompressed pieces of Zstandard data; see `inflated`. Raises exceptions of pyarrow."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while piece := stream.read(PIECE):
            budget.take(what, bytes=len(piece))
            yield piece


def from_snappy(data: memoryview, budget: Budget, what: str) -> Iterator[bytes]:
    """Decompress a Snappy block that is followed by a checksum (Avro specification, "snappy")."""
    body = data[:-_CHECKSUM]
    size = _snappy_size(body)
    if size > _LONGEST_SNAPPY:
        raise ValueError(f"a block is longer than {_LONGEST_SNAPPY} bytes")
    budget.take(what, bytes=size)
    yield pa.decompress(pa.py_buffer(body), size, "snappy", asbytes=True)


def _snappy_size(body: memoryview) -> int:
    """Return the block's decompressed size: a number at its beginning, seven bits per byte."""
    size = 0
    for place, byte in enumerate(body[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return size
    raise ValueError("a block compressed by Snappy has no size")
