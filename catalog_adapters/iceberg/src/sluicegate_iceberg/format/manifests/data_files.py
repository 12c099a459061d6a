"""Reads the data files of a manifest into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import UnsupportedOperation
from sluicegate.formats import FILE_SCHEMA, FileChunk
from sluicegate_iceberg.format.manifests.bounds import Metric, stats_text
from sluicegate_iceberg.format.manifests.manifest_files import Entry
from sluicegate_iceberg.format.metadata.required import check_columns
from sluicegate_iceberg.format.objects import TableObjects

_AT_ONCE = 5000  # entries
_COLUMNS = "the files of a manifest"
_PART_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("modification_time", pa.int64()),
        pa.field("stats", pa.string()),
        pa.field("location", pa.string()),
        pa.field("sequence_number", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The live data files of one manifest, without deletion vectors.

    Attributes:
        chunk: Columns of `FILE_SCHEMA`.
        locations: Locations as written in the manifest, and in delete files.
        sequence_numbers: Data sequence numbers, which decide which deletes apply.
    """

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
) -> DataFiles:
    """Return columns of a manifest's entries. Few entries are in memory at the same time.

    Args:
        entries: All entries of one manifest.
        objects: Resolves paths in the table.
        metrics: The columns to include in statistics.
        timestamps: Commit times of snapshots (epoch milliseconds), by id.
        required: Columns that each file must contain, from `required_columns`.

    Raises:
        UnsupportedOperation: A file is not Parquet, or is encrypted, or lacks a column.
        TableTooLarge: The columns exceed the budget.
        ValueError: An entry contains an invalid value.
    """
    parts = []
    remaining = iter(entries)
    while some := list(islice(remaining, _AT_ONCE)):
        parts.append(_part(some, objects, metrics, timestamps, required))
        objects.budget.take(_COLUMNS, bytes=parts[-1].nbytes)
    whole = pa.Table.from_batches(parts, schema=_PART_SCHEMA)
    columns = [_column(whole, field.name, field.type) for field in FILE_SCHEMA]
    return DataFiles(
        FileChunk.of(pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)),
        _column(whole, "location", pa.string()),
        _column(whole, "sequence_number", pa.int64()),
    )


def _part(
    entries: Sequence[Entry],
    objects: TableObjects,
    metrics: Sequence[Metric],
    timestamps: Mapping[int, int],
    required: Mapping[int, str],
) -> pa.RecordBatch:
    files = [entry.file for entry in entries]
    for file in files:
        _check(file.get("file_format"), encrypted=file.get("key_metadata") is not None)
        _check_count(file["record_count"])
        _check_count(file["file_size_in_bytes"])
        if required:
            check_columns(file, required)
    locations = [file["file_path"] for file in files]
    columns = [
        objects.paths(locations),
        pa.array([file["file_size_in_bytes"] for file in files], pa.int64()),
        # If a file's snapshot has expired, its time is unknown.
        pa.array([timestamps.get(entry.snapshot_id or 0, 0) for entry in entries], pa.int64()),
        pa.array([stats_text(file, metrics) for file in files], pa.string()),
        pa.array(locations, pa.string()),
        pa.array([entry.sequence_number for entry in entries], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_PART_SCHEMA)


def _column(whole: pa.Table, name: str, type_: pa.DataType) -> pa.Array:
    if name in whole.column_names:
        chunks = whole.column(name).chunks
        return pa.concat_arrays(chunks) if chunks else pa.array([], type_)
    if name == "partition_values":
        return pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0, pa.int32()), whole.num_rows), ["{}"]
        )
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
