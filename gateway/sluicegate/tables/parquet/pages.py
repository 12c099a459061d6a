"""Estimates the decoded size of a Parquet file's pages before anything is decoded.

A few kilobytes can become gigabytes: through compression, or through a dictionary with one long text.
Sizes in a footer can be wrong. Sizes in page headers cannot, because the decoder uses them.

Source: Parquet format, `parquet.thrift` and "Encodings".
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from sluicegate.tables.parquet.thrift import I32, STRUCT, ThriftReader

_UNCOMPRESSED, _COMPRESSED = 2, 3
_HEADERS = {5: (1, 2), 7: (1, 2), 8: (1, 4)}  # of pages, and where they have count and encoding
_DICTIONARY_HEADER = 7
_DELTA_BYTE_ARRAY = 7
_SMALL_DICTIONARY = 2048
_LARGE_DICTIONARY = 16 * 1024 * 1024
_NUMBERS = frozenset({"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"})
_NUMBER_BYTES = 16
_UNCOMPRESSED_CODEC = 0
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


@dataclass(frozen=True, slots=True)
class ChunkCost:
    """The maximum cost of decoding a column chunk.

    Attributes:
        pages: Bytes of all its pages, decompressed.
        values: Number of values in all its pages, including nulls.
        longest: Bytes of the longest value that can be repeated without being stored in a page again.
    """

    pages: int = 0
    values: int = 0
    longest: int = 0


def chunk_cost(
    pages: memoryview, codec: int, physical_type: str, pause: Callable[[], None]
) -> ChunkCost:
    """Compute the cost from the headers of a column chunk's pages.

    Args:
        pages: Bytes of the pages.
        codec: Codec of the pages, a number of `CompressionCodec`.
        physical_type: The column's type in the schema, which the decoder uses.
        pause: Called periodically. Can raise an exception to stop.

    Raises:
        ValueError: The pages are damaged, or several contain a dictionary.
        IndexError: The pages are truncated.
    """
    total = values = longest = position = dictionaries = 0
    reader = ThriftReader(pages, 0, pause)
    while position < len(pages):
        reader.position = position
        uncompressed, compressed, page = _page_header(reader)
        start, position = reader.position, reader.position + compressed
        if min(uncompressed, compressed, page.count) < 0 or position > len(pages):
            raise ValueError("a page header is damaged")
        total += uncompressed
        if page.is_dictionary:
            dictionaries += 1
            if dictionaries > 1:
                raise ValueError("a column chunk has several dictionaries")
            longest = max(longest, _longest(pages[start:position], uncompressed, codec, physical_type))
        else:
            values += page.count
        if page.encoding == _DELTA_BYTE_ARRAY:  # each value can start with the entire previous one
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
            size = reader.integer(kind)
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
            found[number] = reader.integer(kind)
        else:
            reader.skip(kind)
    return _Page(found[count], found[encoding], is_dictionary)


def _longest(page: memoryview, size: int, codec: int, physical_type: str) -> int:
    """The longest value in a dictionary page, or the page's size as an upper bound."""
    if physical_type in _NUMBERS:
        return _NUMBER_BYTES
    if not _SMALL_DICTIONARY < size <= _LARGE_DICTIONARY:
        return size
    if codec == _UNCOMPRESSED_CODEC:
        data = bytes(page)
    elif codec in _CODECS:
        data = pa.Codec(_CODECS[codec]).decompress(page, decompressed_size=size, asbytes=True)
    else:
        return size
    return min(_only_length(data) or _longest_in(data), size)


def _only_length(data: bytes) -> int | None:
    """The length of all values of a dictionary, `None` if they differ: paths often have the same."""
    length = int.from_bytes(data[:4], "little")
    count, rest = divmod(len(data), 4 + length)
    if rest or any(data[at :: 4 + length] != data[at : at + 1] * count for at in range(4)):
        return None
    return length


def _longest_in(data: bytes) -> int:
    length_at = struct.Struct("<I").unpack_from
    longest = position = 0
    end = len(data) - 4
    while position <= end:  # some hundred thousand times in a large checkpoint
        (length,) = length_at(data, position)
        if length > longest:
            longest = length
        position += 4 + length
    return longest
