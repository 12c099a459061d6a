"""Decodes Parquet files of a log in batches whose size depends on the memory that they can take."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from sluicegate._util.ranged_file import RangedFile
from sluicegate.tables.parquet.footer import OBJECTS, TAIL_BYTES, Footer, footer_size
from sluicegate.tables.parquet.pages import ChunkCost, chunk_cost
from sluicegate.tables.snapshot import CHUNK_ROWS

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from sluicegate.api.budget import Budget

_BATCH_BYTES = 64 * 1024 * 1024  # maximum memory of one batch if texts of a dictionary repeat
_GAP_BYTES = 1024 * 1024  # maximum gap between two column chunks that one request fetches


class ParquetBytes:
    """A Parquet file with some parts in memory. The other parts are read on demand.

    Args:
        raw: The file.
        size: Its size.
    """

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
        """Read the footer, count it in the budget, and reject one that is unsafe for the decoder.

        Raises:
            TableTooLarge: It exceeds the budget.
            ValueError: It is damaged, too large, or its schema is nested too deeply.
            IndexError: It is truncated.
        """
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
    """Batches of some columns, row group by row group. Each batch counts in the budget.

    Args:
        source: The file.
        footer: The file's footer.
        parquet: The same file, opened.
        columns: Their paths, or those of groups that contain them.
        what: Name of the file in errors.
        budget: The budget of the read.
        groups: Numbers of the row groups, if not all are read.
    """
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
