"""What a Parquet file says that it holds, looked at before anything of it is decoded.

A few kilobytes can become gigabytes: by compression, by a dictionary of one long text, or by a schema
that is nested so deeply that the decoder's stack overflows. Sizes in a footer can lie, those of page
headers cannot: the decoder goes by them. Source: parquet.thrift and Encodings.md of Apache Parquet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from sluicegate.tables.delta.thrift import I32, LIST, STRUCT, ThriftReader

if TYPE_CHECKING:
    import pyarrow.parquet as pq

TAIL_BYTES = 8  # the footer's length, and a magic number
LONGEST_FOOTER = 16 * 1024 * 1024
_MAGIC = b"PAR1"
_SCHEMA, _NUM_CHILDREN = 2, 5
_MOST_LEVELS = 100
_UNCOMPRESSED, _COMPRESSED = 2, 3
_HEADERS = {5: (1, 2), 7: (1, 2), 8: (1, 4)}  # of pages, and where they have count and encoding
_DICTIONARY_HEADER = 7
_DELTA_BYTE_ARRAY = 7
_SMALL_DICTIONARY = 2048
_LARGE_DICTIONARY = 16 * 1024 * 1024
_NUMBERS = frozenset({"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"})
_NUMBER_BYTES = 16
_CODECS = {"SNAPPY": "snappy", "GZIP": "gzip", "ZSTD": "zstd", "BROTLI": "brotli", "LZ4_RAW": "lz4_raw"}


def footer_size(tail: bytes) -> int:
    """The length of a footer by a file's last eight bytes.

    Raises:
        ValueError: This is no Parquet file, or its footer is larger than any writer's.
    """
    size, magic = struct.unpack("<I4s", tail) if len(tail) == TAIL_BYTES else (0, b"")
    if magic != _MAGIC or size > LONGEST_FOOTER:
        raise ValueError(f"the footer has {size} bytes and ends with {magic!r}")
    return int(size)


def check_schema(footer: memoryview, pause: Callable[[], None]) -> None:
    """Refuse a schema whose nesting would overflow the decoder's stack.

    Args:
        footer: A serialized `FileMetaData`.
        pause: Called now and then; may raise to end the reading.

    Raises:
        ValueError: It is nested too deeply, or no footer.
        IndexError: It ends too soon.
    """
    reader = ThriftReader(footer, pause=pause)
    for number, kind in reader.fields():
        if number != _SCHEMA:
            reader.skip(kind)
            continue
        size, element = reader.list_header()
        if (kind, element) != (LIST, STRUCT):
            raise ValueError("the schema is no list")
        _check_depth(_children(reader) for _ in range(size))


def _children(reader: ThriftReader) -> int:
    children = 0
    for number, kind in reader.fields():
        if (number, kind) == (_NUM_CHILDREN, I32):
            children = reader.integer()
        else:
            reader.skip(kind)
    return children


def _check_depth(children: Iterator[int]) -> None:
    """Go by the number of children that each node has, parents before their children."""
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


@dataclass(frozen=True, slots=True)
class ChunkCost:
    """What decoding a column chunk may take at the most.

    Attributes:
        pages: Bytes of all its pages, decompressed.
        values: In all its pages, nulls included.
        longest: Bytes of the longest value that can come again and again without being in a page again.
    """

    pages: int = 0
    values: int = 0
    longest: int = 0


def chunk_range(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """The first byte of a column chunk's pages, and the first one behind them."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, start + chunk.total_compressed_size


def chunk_cost(pages: memoryview, chunk: pq.ColumnChunkMetaData) -> ChunkCost:
    """Go through the headers of a column chunk's pages.

    Args:
        pages: Their bytes.
        chunk: What the footer says of them.

    Raises:
        ValueError: They are damaged.
        IndexError: They end too soon.
    """
    total = values = longest = position = 0
    while position < len(pages):
        reader = ThriftReader(pages, position)
        uncompressed, compressed, page = _page_header(reader)
        start, position = reader.position, reader.position + compressed
        if min(uncompressed, compressed, page.count) < 0 or position > len(pages):
            raise ValueError("a page header is damaged")
        total += uncompressed
        if page.is_dictionary:
            longest = max(longest, _longest(pages[start:position], uncompressed, chunk))
        else:
            values += page.count
        if page.encoding == _DELTA_BYTE_ARRAY:  # each value may begin with all of the one before
            longest = max(longest, uncompressed)
    return ChunkCost(total, values, longest)


@dataclass(frozen=True, slots=True)
class _Page:
    count: int = 0
    encoding: int = 0
    is_dictionary: bool = False


def _page_header(reader: ThriftReader) -> tuple[int, int, _Page]:
    uncompressed = compressed = -1
    page = _Page()
    for number, kind in reader.fields():
        if number in (_UNCOMPRESSED, _COMPRESSED) and kind == I32:
            size = reader.integer()
            uncompressed, compressed = (
                (size, compressed) if number == _UNCOMPRESSED else (uncompressed, size)
            )
        elif number in _HEADERS and kind == STRUCT:
            page = _page(reader, *_HEADERS[number], is_dictionary=number == _DICTIONARY_HEADER)
        else:
            reader.skip(kind)
    return uncompressed, compressed, page


def _page(reader: ThriftReader, count: int, encoding: int, *, is_dictionary: bool) -> _Page:
    found = {count: 0, encoding: 0}
    for number, kind in reader.fields():
        if number in found and kind == I32:
            found[number] = reader.integer()
        else:
            reader.skip(kind)
    return _Page(found[count], found[encoding], is_dictionary)


def _longest(page: memoryview, size: int, chunk: pq.ColumnChunkMetaData) -> int:
    """The longest value in a dictionary page; its size where that is small or cannot be said."""
    if chunk.physical_type in _NUMBERS:
        return _NUMBER_BYTES
    codec = chunk.compression
    if not _SMALL_DICTIONARY < size <= _LARGE_DICTIONARY:
        return size
    if codec == "UNCOMPRESSED":
        data = bytes(page)
    elif codec in _CODECS:
        data = pa.Codec(_CODECS[codec]).decompress(page, decompressed_size=size, asbytes=True)
    else:
        return size
    length_at = struct.Struct("<I").unpack_from
    longest = position = 0
    end = len(data) - 4
    while position <= end:  # some hundred thousand times in a large checkpoint
        (length,) = length_at(data, position)
        if length > longest:
            longest = length
        position += 4 + length
    return min(longest, size)
