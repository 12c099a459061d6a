"""Decodes Parquet files of a log in batches whose size depends on the memory that they can take."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from sluicegate._util.ranged_file import RangedFile
from sluicegate.tables.parquet.footer import OBJECTS, TAIL_BYTES, Footer, footer_size
from sluicegate.tables.parquet.thrift import I32, STRUCT, ThriftReader
from sluicegate.tables.snapshot import CHUNK_ROWS

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from sluicegate.api.budget import Budget

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
        longest: Bytes of the longest value that can be repeated without being stored in a page again.
    """

    pages: int = 0
    values: int = 0
    longest: int = 0


def chunk_cost(
    pages: memoryview, codec: int, physical_type: str, pause: Callable[[], None]
) -> ChunkCost:
    """Compute the cost from the headers of a column chunk's pages."""
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


_BATCH_BYTES = 64 * 1024 * 1024  # maximum memory of one batch if texts of a dictionary repeat
_GAP_BYTES = 1024 * 1024  # maximum gap between two column chunks that one request fetches


class ParquetBytes:
    """A Parquet file with some parts in memory. The other parts are read on demand."""

    def __init__(self, raw: IO[bytes] | io.RawIOBase, size: int) -> None:
        self.size = size
        self._raw = raw
        self._held: list[tuple[int, memoryview]] = []

    @classmethod
    def of(cls, data: memoryview) -> ParquetBytes:
        """A file that is in memory."""
        file = cls(io.BytesIO(), len(data))
        file._held = [(0, data)]
        return file

    def file(self) -> Any:
        """The file object for Arrow."""
        start, data = self._held[0] if self._held else (-1, memoryview(b""))
        whole = start == 0 and len(data) == self.size
        return pa.BufferReader(pa.py_buffer(data)) if whole else _Handle(self)

    def footer(self, what: str, budget: Budget) -> Footer:
        """Read the footer, count it in the budget, and reject one that is unsafe for the decoder."""
        end = self.size - TAIL_BYTES
        size = footer_size(bytes(self.part(max(0, end), self.size)))
        budget.take(what, bytes=OBJECTS * size)
        footer = Footer(self.part(max(0, end - size), end), lambda: budget.take(what))
        budget.take(what, bytes=footer.decoded_bytes - OBJECTS * size)
        return footer

    def part(self, start: int, end: int) -> memoryview:
        """A range of bytes of the file, as far as it exists."""
        for first, data in self._held:
            if first <= start and end <= first + len(data):
                return data[start - first : end - first]
        self._raw.seek(start)
        return memoryview(self._raw.read(end - start) or b"")

    def hold(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Load these parts instead of the previous ones, with one request per adjacent group."""
        if self._held and len(self._held[0][1]) == self.size:
            return
        self._held = []
        joined: list[tuple[int, int]] = []
        for start, end in sorted(ranges):
            if joined and start <= joined[-1][1] + _GAP_BYTES:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        self._held = [(start, self.part(start, end)) for start, end in joined]


class _Handle(RangedFile):
    """The file as Arrow reads it."""

    def __init__(self, source: ParquetBytes) -> None:
        super().__init__(source.size)
        self._source = source

    def fetch(self, start: int, end: int) -> memoryview:
        return self._source.part(start, end)


def decoded(
    source: ParquetBytes,
    footer: Footer,
    parquet: pq.ParquetFile,
    columns: list[str],
    what: str,
    budget: Budget,
    groups: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of some columns, row group by row group. Each batch counts in the budget."""
    wanted = columns_in(parquet, columns)
    types = [parquet.schema.column(number).physical_type for number in wanted]
    repeated = [parquet.schema.column(number).max_repetition_level > 0 for number in wanted]
    for group in range(parquet.num_row_groups) if groups is None else groups:
        chunks = footer.chunks(group, wanted)
        if any(not 0 <= chunk.start <= chunk.end <= source.size for chunk in chunks):
            raise ValueError("a column chunk has no position in the file")
        source.hold([(chunk.start, chunk.end) for chunk in chunks])
        costs = [
            chunk_cost(
                source.part(chunk.start, chunk.end), chunk.codec, kind, lambda: budget.take(what)
            )
            for chunk, kind in zip(chunks, types, strict=True)
        ]
        longest = sum(c.longest for c, many in zip(costs, repeated, strict=True) if not many)
        rows = max(1, min(CHUNK_ROWS, _BATCH_BYTES // max(1, longest)))
        with _reserved(_most(costs, repeated) + longest * rows, what, budget):
            for batch in parquet.iter_batches(rows, [group], columns, use_threads=False):
                budget.take(what, bytes=batch.nbytes)
                yield batch


def columns_in(parquet: pq.ParquetFile, paths: Sequence[str]) -> list[int]:
    """Numbers of the columns with these paths, or in groups with these paths."""
    return [
        number
        for number in range(parquet.metadata.num_columns)
        if _is_in(parquet.schema.column(number).path, paths)
    ]


def _is_in(path: str, columns: Sequence[str]) -> bool:
    return any(path == column or path.startswith(f"{column}.") for column in columns)


def _most(costs: Sequence[ChunkCost], repeated: Sequence[bool]) -> int:
    """The maximum memory of a row group, apart from texts that repeat from row to row."""
    pages = sum(cost.pages for cost in costs)
    lists = sum(c.values * (c.longest + 8) for c, many in zip(costs, repeated, strict=True) if many)
    return pages + lists


@contextmanager
def _reserved(size: int, what: str, budget: Budget) -> Iterator[None]:
    """Count bytes in the budget while they can be in use."""
    budget.take(what, bytes=size)
    try:
        yield
    finally:
        budget.take(what, bytes=-size)
