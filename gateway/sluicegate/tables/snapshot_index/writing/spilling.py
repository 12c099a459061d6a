"""Files with their bounds in a temporary file. What their order needs is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.packed import PackedTexts
from sluicegate.tables.predicates.bounds import file_bounds
from sluicegate.tables.snapshot_index.layout import FILE_COLUMNS, IndexedColumns


def with_bounds(files: pa.Table, columns: IndexedColumns) -> pa.RecordBatch:
    """Files with the bounds of their data columns, which are read from the statistics."""
    texts = files.column("stats").combine_chunks()
    bounds = file_bounds(DerivedColumns(0), PackedTexts(texts), columns.data)
    plain = [files.column(each.name).cast(each.type).combine_chunks() for each in FILE_COLUMNS]
    arrays = [*plain, *columns.arrays_of(bounds)]
    return pa.RecordBatch.from_arrays(arrays, schema=columns.part_schema())


_ROWS = 8 * 1024  # whose statistics are parsed together
_SAMPLES = 16  # at least, if there are so many batches
_SAMPLE_ROWS = 2048  # of each batch

COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
"""How temporary files are written."""


@dataclass(frozen=True, slots=True)
class SpilledFiles:
    """Files in the order in which they were read."""

    path: Path
    partitions: Sequence[str]
    codes: pa.ChunkedArray
    samples: Sequence[pa.RecordBatch]

    def __len__(self) -> int:
        """Number of files."""
        return len(self.codes)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The files with their bounds."""
        with pa.OSFile(str(self.path)) as source:
            yield from pa.ipc.open_stream(source)

    def column(self, field: pa.Field) -> pa.ChunkedArray:
        """One column of all files."""
        with pa.OSFile(str(self.path)) as source:
            at = [pa.ipc.open_stream(source).schema.get_field_index(field.name)]
        options = pa.ipc.IpcReadOptions(included_fields=at, use_threads=False)
        with pa.OSFile(str(self.path)) as source:
            chunks = [each.column(0) for each in pa.ipc.open_stream(source, options=options)]
        return pa.chunked_array(chunks, field.type)


def spill(
    files: Iterable[pa.RecordBatch], columns: IndexedColumns, path: Path, check: Callable[[], None]
) -> SpilledFiles:
    """Write files with the bounds of their data columns to a temporary file. Parses all statistics."""
    partitions: dict[str, int] = {}
    codes = [pa.array([], pa.int32())]
    samples = _Samples([field.name for field in columns.bounds_fields(columns.data)])
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_stream(sink, columns.part_schema(), options=COMPRESSED) as writer,
    ):
        for batch in files:
            for start in range(0, batch.num_rows, _ROWS):
                check()
                some = pa.Table.from_batches([batch.slice(start, _ROWS)])
                rows = with_bounds(some, columns)
                writer.write_batch(rows)
                codes.append(_codes(rows.column("partition_values"), partitions))
                samples.add(rows)
    return SpilledFiles(path, list(partitions), pa.chunked_array(codes), samples.kept)


def _codes(texts: pa.Array, known: dict[str, int]) -> pa.Array:
    """The numbers of partitions. New ones are added."""
    encoded = texts.dictionary_encode()
    numbers = [known.setdefault(text, len(known)) for text in encoded.dictionary.to_pylist()]
    return pa.array(numbers, pa.int32()).take(encoded.indices)


class _Samples:
    """Rows of batches at equal distances, however many batches there are."""

    def __init__(self, names: Sequence[str]) -> None:
        self.kept: list[pa.RecordBatch] = []
        self._names = names
        self._seen, self._distance = 0, 1

    def add(self, rows: pa.RecordBatch) -> None:
        """Keep rows of a batch, or not."""
        if self._seen % self._distance == 0:
            first = pa.array(range(min(rows.num_rows, _SAMPLE_ROWS)))
            self.kept.append(rows.select(self._names).take(first))  # a copy: a slice keeps the batch
            if len(self.kept) > 2 * _SAMPLES:
                self.kept, self._distance = self.kept[::2], 2 * self._distance
        self._seen += 1
