"""Parses a Parquet file's footer before Arrow reads it.

A deeply nested schema overflows the stack of Arrow's decoder. `pyarrow` also aborts the process when it
creates an object for a column chunk whose statistics contradict the schema.
Source: Parquet format, `parquet.thrift`.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from sluicegate.tables.parquet.thrift import BINARY, I32, I64, LIST, STRUCT, ThriftReader

TAIL_BYTES = 8  # the footer's length, and a magic number
LONGEST_FOOTER = 16 * 1024 * 1024
_MAGIC = b"PAR1"
_SCHEMA, _ROW_GROUPS, _COLUMN_ORDERS = 2, 4, 7  # in FileMetaData
_NUM_CHILDREN = 5  # in SchemaElement
_COLUMNS = 1  # in RowGroup
_META_DATA = 3  # in ColumnChunk
_CODEC, _VALUES, _SIZE, _DATA_AT, _DICTIONARY_AT, _STATISTICS = 4, 5, 7, 9, 11, 12
_IN_CHUNK = {_CODEC: I32, _VALUES: I64, _SIZE: I64, _DATA_AT: I64, _DICTIONARY_AT: I64}
_NULLS, _MOST, _LEAST = 3, 5, 6  # in Statistics
_MOST_LEVELS = 100
OBJECTS = 20  # memory of objects per byte of a footer, apart from elements of lists
# The most memory of Arrow for an element of a list, which can be a single byte of a footer: a node of
# the schema (its column, and its Arrow type; the node itself is a struct), a struct, and another value.
_NODE_OBJECTS, _STRUCT_OBJECTS, _OTHER_OBJECTS = 1800, 800, 50


def footer_size(tail: bytes) -> int:
    """The length of a footer, from a file's last eight bytes."""
    size, magic = struct.unpack("<I4s", tail) if len(tail) == TAIL_BYTES else (0, b"")
    if magic != _MAGIC or size > LONGEST_FOOTER:
        raise ValueError(f"the footer has {size} bytes and ends with {magic!r}")
    return int(size)


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """A column of a row group.

    Attributes:
        bounds: The minimum and maximum value as bytes, if known.
    """

    codec: int
    values: int
    start: int
    end: int
    nulls: int | None = None
    bounds: tuple[bytes, bytes] | None = None


class Footer:
    """A footer whose schema is safe for Arrow. Column chunks are parsed on demand.

    Attributes:
        decoded_bytes: The most memory that Arrow uses for it.
    """

    def __init__(self, data: memoryview, pause: Callable[[], None]) -> None:
        self._data, self._pause = data, pause
        self._groups = array("I")  # their positions in the footer, which can contain millions
        self._is_ordered = False
        reader, nodes = self._reader(0), 0
        for number, kind in reader.fields():
            if number == _SCHEMA:
                nodes = _structs(reader, kind)
                _check_depth(_children(reader) for _ in range(nodes))
            elif number == _ROW_GROUPS:
                self._find_groups(reader, _structs(reader, kind))
            else:
                self._is_ordered |= number == _COLUMN_ORDERS
                reader.skip(kind)
        elements = _STRUCT_OBJECTS * reader.structs + _OTHER_OBJECTS * reader.others
        self.decoded_bytes = OBJECTS * len(data) + _NODE_OBJECTS * nodes + elements

    def chunks(self, group: int, columns: Collection[int]) -> list[ColumnChunk]:
        """Some columns of a row group, by their numbers, in ascending order."""
        reader = self._reader(self._groups[group])
        wanted = frozenset(columns)
        chunks: list[ColumnChunk] = []
        for number, kind in reader.fields():
            if number != _COLUMNS:
                reader.skip(kind)
                continue
            for column in range(_structs(reader, kind)):
                if column in wanted:
                    chunks.append(self._chunk(reader))
                else:
                    reader.skip(STRUCT)
        if len(chunks) != len(wanted):
            raise ValueError("a row group lacks columns")
        return chunks

    def _reader(self, position: int) -> ThriftReader:
        return ThriftReader(self._data, position, self._pause)

    def _find_groups(self, reader: ThriftReader, size: int) -> None:
        for _ in range(size):
            self._groups.append(reader.position)
            reader.skip(STRUCT)

    def _chunk(self, reader: ThriftReader) -> ColumnChunk:
        chunk = None
        for number, kind in reader.fields():
            if (number, kind) == (_META_DATA, STRUCT):
                chunk = _chunk_of(reader, self._is_ordered)
            else:
                reader.skip(kind)
        if chunk is None:
            raise ValueError("a column chunk has no metadata")
        return chunk


def _structs(reader: ThriftReader, kind: int) -> int:
    """The number of structs in a list."""
    size, element = reader.list_header()
    if (kind, element) != (LIST, STRUCT):
        raise ValueError("a list is invalid")
    return size


def _children(reader: ThriftReader) -> int:
    return _integers(reader, {_NUM_CHILDREN: I32}).get(_NUM_CHILDREN, 0)


def _integers(reader: ThriftReader, wanted: Mapping[int, int]) -> dict[int, int]:
    found = {}
    for number, kind in reader.fields():
        if wanted.get(number) == kind:
            found[number] = reader.integer(kind)
        else:
            reader.skip(kind)
    return found


def _check_depth(children: Iterator[int]) -> None:
    """Check the depth from each node's number of children, parents before their children."""
    missing: list[int] = []
    for count in children:
        if missing:
            missing[-1] -= 1
        if count > 0:
            missing.append(count)
        while missing and missing[-1] <= 0:
            missing.pop()
        if len(missing) > _MOST_LEVELS:
            raise ValueError("the schema is nested too deeply")


def _chunk_of(reader: ThriftReader, is_ordered: bool) -> ColumnChunk:
    found: dict[int, int] = {}
    nulls = bounds = None
    for number, kind in reader.fields():
        if _IN_CHUNK.get(number) == kind:
            found[number] = reader.integer(kind)
        elif (number, kind) == (_STATISTICS, STRUCT):
            nulls, bounds = _statistics(reader)
        else:
            reader.skip(kind)
    if not found.keys() >= _IN_CHUNK.keys() - {_DICTIONARY_AT}:
        raise ValueError("a column chunk lacks required fields")
    start = found[_DATA_AT]
    if 0 < found.get(_DICTIONARY_AT, 0) < start:
        start = found[_DICTIONARY_AT]
    end = start + found[_SIZE]
    return ColumnChunk(found[_CODEC], found[_VALUES], start, end, nulls, bounds if is_ordered else None)


def _statistics(reader: ThriftReader) -> tuple[int | None, tuple[bytes, bytes] | None]:
    nulls, bounds = None, {}
    for number, kind in reader.fields():
        if (number, kind) == (_NULLS, I64):
            nulls = reader.integer(kind)
        elif number in (_MOST, _LEAST) and kind == BINARY:
            bounds[number] = reader.binary()
        else:
            reader.skip(kind)
    return nulls, (bounds[_LEAST], bounds[_MOST]) if len(bounds) == 2 else None
