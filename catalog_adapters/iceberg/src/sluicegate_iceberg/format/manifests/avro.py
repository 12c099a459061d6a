"""Reads Avro object container files (Avro specification, "Object Container Files") within a budget.

fastavro decompresses entire blocks and trusts the schema. This module decodes one row at a time, from
a window that moves through the block.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
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
)
from sluicegate_iceberg.format.json_cost import take_json

_MAGIC = b"Obj\1"
_SYNC = 16  # bytes of the marker after the header and after each block
_MOST_HEADERS = 1000
# A row of a table with 30,000 columns is about 3 MB. Decoded, it takes a hundred times as much
# memory.
_LONGEST_ROW = 4 << 20
_AT_ONCE = 1000  # rows between updates of the budget
_LONGEST_NUMBER = 10  # bytes


class AvroFile:
    """A file of rows.

    Args:
        data: The file's content.
        what: Description of the file for error messages.
        budget: Counts decoded bytes.

    Attributes:
        headers: The file's metadata, with values still encoded.

    Raises:
        ValueError: It is not an Avro file.
    """

    def __init__(self, data: bytes, what: str, budget: Budget) -> None:
        self._data, self._what, self._budget = memoryview(data), what, budget
        self._at = len(_MAGIC)
        if not data.startswith(_MAGIC):
            raise ValueError("it is not an Avro file")
        self.headers: Mapping[str, bytes] = self._read_headers()
        self._sync = self._take(_SYNC)

    def json(self, header: str) -> Any:
        """Return a JSON header.

        Raises:
            KeyError: The header doesn't exist.
            ValueError: It is not JSON.
        """
        text = self.headers[header]
        take_json(text, self._what, self._budget)
        return orjson.loads(text)

    def rows(self, schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield rows. Each one is decoded on demand.

        Args:
            schema: A schema of `avro_schema`.

        Raises:
            TableTooLarge: The rows exceed the budget.
            ValueError: The file is broken. Decoding can also raise other errors.
        """
        parsed = fastavro.parse_schema(dict(schema))
        decompress = self._codec()
        while self._at < len(self._data):
            count, size = self._number(), self._number()
            if count < 0:
                raise ValueError("a block has a negative number of rows")
            yield from self._decoded(count, decompress(self._take(size)), parsed)
            if self._take(_SYNC) != self._sync:
                raise ValueError("a block does not end at its declared size")

    def _decoded(self, count: int, pieces: Iterator[bytes], schema: Any) -> Iterator[dict[str, Any]]:
        window, start, counted = io.BytesIO(), 0, 0
        for row in range(count):
            while True:
                try:
                    value: Any = fastavro.schemaless_reader(window, schema, None)
                    break
                except (EOFError, ValueError, IndexError):  # the rest of the row might follow
                    window, start = self._moved(window, start, pieces), 0
            start = window.tell()
            if row - counted >= _AT_ONCE:
                self._budget.take(self._what, rows=row - counted)
                counted = row
            yield value
        self._budget.take(self._what, rows=count - counted)

    def _moved(self, window: io.BytesIO, start: int, pieces: Iterator[bytes]) -> io.BytesIO:
        """Return the window, moved to a row and extended by one piece."""
        rest = window.getvalue()[start:]
        if len(rest) > _LONGEST_ROW:
            raise TableTooLarge(
                f"{self._what} of the table has an entry of more than {_LONGEST_ROW} bytes"
            )
        piece = next(pieces, None)
        if piece is None:
            raise ValueError("a row is invalid, or extends beyond its block")
        return io.BytesIO(rest + piece)

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
