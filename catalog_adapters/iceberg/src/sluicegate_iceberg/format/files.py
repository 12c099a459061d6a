"""The data files of a manifest as Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import UnsupportedOperation
from sluicegate.formats import FILE_SCHEMA, FileChunk
from sluicegate_iceberg.format.bounds import Metric, stats_text
from sluicegate_iceberg.format.manifests import Entry
from sluicegate_iceberg.format.objects import TableObjects
from sluicegate_iceberg.format.required import check_columns


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The live data files of one manifest, without deletion vectors.

    Attributes:
        chunk: Columns of `FILE_SCHEMA`.
        locations: As the manifest spells them, which delete files do too.
        sequence_numbers: Data sequence numbers, which tell what deletes apply.
    """

    chunk: FileChunk
    locations: pa.StringArray
    sequence_numbers: pa.Int64Array

    def __len__(self) -> int:
        return len(self.chunk)

    @property
    def nbytes(self) -> int:
        """Bytes of memory beside those of the chunk."""
        return int(self.locations.nbytes + self.sequence_numbers.nbytes)

    @property
    def oldest(self) -> int:
        """The smallest sequence number; there must be a file."""
        return int(pc.min(self.sequence_numbers).as_py())


def data_files(
    entries: Sequence[Entry],
    objects: TableObjects,
    metrics: Sequence[Metric],
    timestamps: Mapping[int, int],
    required: Mapping[int, str],
) -> DataFiles:
    """Columns of a manifest's entries.

    Args:
        entries: All of one manifest.
        objects: Knows how paths in the table are written.
        metrics: The columns that statistics tell of.
        timestamps: When snapshots were committed (epoch milliseconds), by id.
        required: Columns that each file must have, of `required_columns`.

    Raises:
        UnsupportedOperation: A file is not Parquet, or encrypted, or lacks a column.
    """
    files = [entry.file for entry in entries]
    for file in files:
        _check(file.get("file_format"), encrypted=file.get("key_metadata") is not None)
        if required:
            check_columns(file, required)
    locations = [file["file_path"] for file in files]
    values = {
        "path": [objects.path(location) for location in locations],
        "size": [file["file_size_in_bytes"] for file in files],
        # Of a file whose snapshot has expired nobody knows it any more.
        "modification_time": [timestamps.get(entry.snapshot_id or 0, 0) for entry in entries],
        "stats": [stats_text(file, metrics) for file in files],
        "partition_values": pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0, pa.int32()), len(files)), ["{}"]
        ),
    }
    columns = [_column(values.get(field.name), field.type, len(files)) for field in FILE_SCHEMA]
    return DataFiles(
        FileChunk.of(pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)),
        pa.array(locations, pa.string()),
        pa.array([entry.sequence_number for entry in entries], pa.int64()),
    )


def _column(values: object, type_: pa.DataType, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, type_)
    return values if isinstance(values, pa.Array) else pa.array(values, type_)


def _check(file_format: str | None, *, encrypted: bool) -> None:
    if str(file_format).upper() != "PARQUET":
        raise UnsupportedOperation(
            f"the Iceberg table has data files of format {str(file_format).lower()}, and recipients "
            "read Parquet only: rewrite them (rewrite_data_files with write.format.default=parquet)"
        )
    if encrypted:
        raise UnsupportedOperation(
            "the Iceberg table's data files are encrypted, and recipients cannot read them"
        )
