"""Reads Avro object container files (Avro specification, "Object Container Files") within a budget.

fastavro decompresses entire blocks and trusts the schema. This module decodes one row at a time, from
a window that moves through the block. A window that could become many objects is counted as such.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import fastavro
import orjson

from sluicegate.api import Budget, TableTooLarge
from sluicegate_iceberg.format.inflating import (
    PIECE,
    RAW_DEFLATE,
    from_snappy,
    from_zstandard,
    inflated,
    take_json,
)
from sluicegate_iceberg.format.manifests.avro_schema import RowSchema

_MAGIC = b"Obj\1"
_SYNC = 16  # bytes of the marker after the header and after each block
_MOST_HEADERS = 1000
# A row of a table with 30,000 columns is about 3 MB. Decoded, it takes a hundred times as much
# memory.
_LONGEST_ROW = 4 << 20
_AT_ONCE = 1000  # rows between updates of the budget
_OBJECTS = 24 << 20  # bytes of a row's objects that are not counted
_LARGEST_WINDOW = 256 << 10  # bytes, unless a row is longer
_LONGEST_NUMBER = 10  # bytes


class AvroFile:
    """A file of rows."""

    def __init__(self, data: bytes, what: str, budget: Budget) -> None:
        self._data, self._what, self._budget = memoryview(data), what, budget
        self._at = len(_MAGIC)
        if not data.startswith(_MAGIC):
            raise ValueError("it is not an Avro file")
        self.headers: Mapping[str, bytes] = self._read_headers()
        self._sync = self._take(_SYNC)

    def json(self, header: str) -> Any:
        """Return a JSON header."""
        text = self.headers[header]
        take_json(text, self._what, self._budget)
        return orjson.loads(text)

    def rows(self, schema: RowSchema) -> Iterator[dict[str, Any]]:
        """Yield rows. Each one is decoded on demand. Its objects are counted until the next one."""
        parsed = fastavro.parse_schema(dict(schema.schema))
        decompress = self._codec()
        window = _Window(schema.expansion, self._what, self._budget)
        while self._at < len(self._data):
            count, size = self._number(), self._number()
            if count < 0:
                raise ValueError("a block has a negative number of rows")
            window.begin(decompress(self._take(size)))
            yield from self._decoded(count, window, parsed)
            if self._take(_SYNC) != self._sync:
                raise ValueError("a block does not end at its declared size")

    def _decoded(self, count: int, window: _Window, schema: Any) -> Iterator[dict[str, Any]]:
        counted = 0
        with closing(window):
            for row in range(count):
                while True:
                    try:
                        value: Any = fastavro.schemaless_reader(window.data, schema, None)
                        break
                    except (EOFError, ValueError, IndexError):  # the rest of the row might follow
                        window.extend()
                window.start = window.data.tell()
                if row - counted >= _AT_ONCE:
                    self._budget.take(self._what, rows=row - counted)
                    counted = row
                yield value
        self._budget.take(self._what, rows=count - counted)

    def _codec(self) -> Callable[[memoryview], Iterator[bytes]]:
        name = self.headers.get("avro.codec", b"null").decode()
        if name == "null":
            return self._pieces
        if name == "deflate":
            return lambda block: inflated(block, RAW_DEFLATE, self._budget, self._what)
        if name == "zstandard":
            return lambda block: from_zstandard(block, self._budget, self._what)
        if name == "snappy":
            return lambda block: from_snappy(block, self._budget, self._what)
        raise ValueError(
            f"its codec '{name[:50]}' is not supported, because Iceberg's writers do not use it"
        )

    def _pieces(self, block: memoryview) -> Iterator[bytes]:
        for start in range(0, len(block), PIECE):
            yield bytes(block[start : start + PIECE])

    def _read_headers(self) -> dict[str, bytes]:
        headers: dict[str, bytes] = {}
        while count := self._number():
            if count < 0:
                count, _ = -count, self._number()
            if len(headers) + count > _MOST_HEADERS:
                raise ValueError("the file has too many headers")
            for _ in range(count):
                key = bytes(self._take(self._number())).decode()
                headers[key] = bytes(self._take(self._number()))
        return headers

    def _number(self) -> int:
        """Decode an Avro `long`: zigzag, seven bits per byte."""
        value = 0
        for place, byte in enumerate(self._data[self._at : self._at + _LONGEST_NUMBER]):
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                self._at += place + 1
                return (value >> 1) ^ -(value & 1)
        raise ValueError("the file is truncated, or contains a number that is too long")

    def _take(self, size: int) -> memoryview:
        part = self._data[self._at : self._at + max(size, 0)]
        if len(part) != size:
            raise ValueError("the file is truncated")
        self._at += size
        return part


class _Window:
    """The part of a block that is decoded. Counts the objects that its rows could become.

    Attributes:
        data: The bytes, at the start of a row or in it.
    """

    def __init__(self, expansion: int, what: str, budget: Budget) -> None:
        self.data, self.start = io.BytesIO(), 0
        self._pieces: Iterator[bytes] = iter(())
        self._rest = memoryview(b"")
        self._expansion, self._what, self._budget = expansion, what, budget
        self._size = min(_LARGEST_WINDOW, _OBJECTS // expansion // 2)
        self._reserved = 0

    def begin(self, pieces: Iterator[bytes]) -> None:
        """Start a block, which consists of these pieces."""
        self.data, self.start = io.BytesIO(), 0
        self._pieces, self._rest = pieces, memoryview(b"")

    def extend(self) -> None:
        """Move to the start of the row, and add more bytes: as many as before if the row is long."""
        row = self.data.getvalue()[self.start :]
        if len(row) > _LONGEST_ROW:
            raise TableTooLarge(
                f"{self._what} of the table has an entry of more than {_LONGEST_ROW} bytes"
            )
        more = b"".join(self._next(max(self._size, len(row))))
        if not more:
            raise ValueError("a row is invalid, or extends beyond its block")
        self._reserve((len(row) + len(more)) * self._expansion - _OBJECTS)
        self.data, self.start = io.BytesIO(row + more), 0

    def close(self) -> None:
        """Drop the objects."""
        self._reserve(0)

    def _next(self, size: int) -> Iterator[memoryview]:
        while size > 0:
            if not self._rest:
                self._rest = memoryview(next(self._pieces, b""))
            if not self._rest:
                return
            part, self._rest = self._rest[:size], self._rest[size:]
            size -= len(part)
            yield part

    def _reserve(self, size: int) -> None:
        more = max(size, 0) - self._reserved
        if more:
            self._budget.take(self._what, bytes=more)
            self._reserved += more
