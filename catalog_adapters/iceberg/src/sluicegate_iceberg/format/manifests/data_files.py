"""Reads the data files of a manifest into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import UnsupportedOperation
from sluicegate.formats import FILE_SCHEMA, FileChunk
from sluicegate_iceberg.format.manifests.bounds import Metric, stats_text
from sluicegate_iceberg.format.manifests.manifest_files import Entry
from sluicegate_iceberg.format.manifests.partitions import PartitionText, unpartitioned
from sluicegate_iceberg.format.metadata.required import check_columns
from sluicegate_iceberg.format.objects import TableObjects

_AT_ONCE = 5000  # entries
_TEXTS = 4 << 20  # characters of the entries that are converted at once, apart from the last one
_PARTITION_BYTES = 200  # memory of a partition's text, apart from its characters
_COLUMNS = "the files of a manifest"
_PART_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("modification_time", pa.int64()),
        pa.field("stats", pa.string()),
        pa.field("location", pa.string()),
        pa.field("sequence_number", pa.int64()),
        pa.field("partition", pa.int32()),
    ]
)


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The live data files of one manifest, without deletion vectors."""

    chunk: FileChunk
    locations: pa.StringArray
    sequence_numbers: pa.Int64Array

    def __len__(self) -> int:
        return len(self.chunk)

    @property
    def nbytes(self) -> int:
        """Return the size in memory without the chunk, in bytes."""
        return int(self.locations.nbytes + self.sequence_numbers.nbytes)

    @property
    def oldest(self) -> int:
        """Return the smallest sequence number. There must be at least one file."""
        return int(pc.min(self.sequence_numbers).as_py())


def data_files(
    entries: Iterable[Entry],
    objects: TableObjects,
    metrics: Sequence[Metric],
    timestamps: Mapping[int, int],
    required: Mapping[int, str],
    partition: PartitionText = unpartitioned,
) -> DataFiles:
    """Return columns of a manifest's entries. Only one entry is in memory, because entries are large.

    Args:
        required: Columns that each file must contain, from `required_columns`.
    """
    parts = []
    partitions: dict[str, int] = {}
    rows = ((*_row(entry, metrics, timestamps, required), partition(entry.file)) for entry in entries)
    while some := list(_some(rows)):
        parts.append(_part(some, objects, partitions))
        objects.budget.take(_COLUMNS, bytes=parts[-1].nbytes)
    whole = pa.Table.from_batches(parts, schema=_PART_SCHEMA)
    columns = [_column(whole, field.name, field.type, partitions) for field in FILE_SCHEMA]
    return DataFiles(
        FileChunk.of(pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)),
        _column(whole, "location", pa.string(), partitions),
        _column(whole, "sequence_number", pa.int64(), partitions),
    )


_Row = tuple[str, int, int, str, int, str]


def _row(
    entry: Entry, metrics: Sequence[Metric], timestamps: Mapping[int, int], required: Mapping[int, str]
) -> tuple[str, int, int, str, int]:
    """Return location, size, time, statistics and sequence number of a file."""
    file: Mapping[str, Any] = entry.file
    _check(file.get("file_format"), encrypted=file.get("key_metadata") is not None)
    _check_count(file["record_count"])
    _check_count(file["file_size_in_bytes"])
    if required:
        check_columns(file, required)
    # If a file's snapshot has expired, its time is unknown.
    time = timestamps.get(entry.snapshot_id or 0, 0)
    stats = stats_text(file, metrics)
    return file["file_path"], file["file_size_in_bytes"], time, stats, entry.sequence_number


def _some(rows: Iterator[_Row]) -> Iterator[_Row]:
    """Yield as many rows as are converted at once."""
    texts = 0
    for row in islice(rows, _AT_ONCE):
        yield row
        texts += len(row[0]) + len(row[3]) + len(row[5])
        if texts > _TEXTS:
            return


def _part(rows: Sequence[_Row], objects: TableObjects, partitions: dict[str, int]) -> pa.RecordBatch:
    """Return columns of rows, with the numbers of their partitions. New ones are added."""
    locations, sizes, times, stats, numbers, texts = zip(*rows, strict=True)
    known = len(partitions)
    codes = [partitions.setdefault(text, len(partitions)) for text in texts]
    new = islice(partitions, known, None)
    objects.budget.take(_COLUMNS, bytes=sum(_PARTITION_BYTES + len(text) for text in new))
    columns = [
        objects.paths(locations),
        pa.array(sizes, pa.int64()),
        pa.array(times, pa.int64()),
        pa.array(stats, pa.string()),
        pa.array(locations, pa.string()),
        pa.array(numbers, pa.int64()),
        pa.array(codes, pa.int32()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_PART_SCHEMA)


def _column(whole: pa.Table, name: str, type_: pa.DataType, partitions: Mapping[str, int]) -> pa.Array:
    if name in whole.column_names:
        chunks = whole.column(name).chunks
        return pa.concat_arrays(chunks) if chunks else pa.array([], type_)
    if name == "partition_values":
        codes = _column(whole, "partition", pa.int32(), partitions)
        return pa.DictionaryArray.from_arrays(codes, pa.array(list(partitions), pa.string()))
    return pa.nulls(whole.num_rows, type_)


def _check_count(value: object) -> None:
    if not isinstance(value, int) or value < 0:
        raise ValueError("the size or the number of rows of a file is invalid")


def _check(file_format: str | None, *, encrypted: bool) -> None:
    if str(file_format).upper() != "PARQUET":
        raise UnsupportedOperation(
            f"the Iceberg table has data files of format {str(file_format).lower()}, but recipients "
            "can read only Parquet: rewrite the files (rewrite_data_files with "
            "write.format.default=parquet)"
        )
    if encrypted:
        raise UnsupportedOperation(
            "the Iceberg table's data files are encrypted, so recipients cannot read them"
        )
