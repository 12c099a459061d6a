"""The entries of manifests: data files, and the deletion vectors of data files."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.columns import integers, texts
from sluicegate.protocols.iceberg_rest.manifests.avro_schemas import decimal_digits
from sluicegate.protocols.iceberg_rest.planning.partitions import (
    OwnPartition,
    OwnPartitions,
    PartitionReader,
)
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import (
    PUFFIN,
    UNKNOWN_RECORDS,
    VectorBlob,
    number_of_records,
)
from sluicegate.protocols.iceberg_rest.view import IcebergView, snapshot_id
from sluicegate.tables.iceberg.position_deletes import FILE_PATH_ID
from sluicegate.tables.iceberg.shape import PartitionField
from sluicegate.tables.snapshot import FILE_SCHEMA, FileSet

_EXISTING = 0
_DATA, _DELETES = 0, 1

_BATCH_FILES = 8_192
_COLUMNS = ["path", "size", "partition_values", "deletion_vector"]
_INT, _LONG = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)
_LIMITS = {"int": _INT, "date": _INT, "long": _LONG, "timestamp": _LONG, "timestamptz": _LONG}
_DIGITS = Context(prec=300)  # partition values have fewer

Entry = dict[str, Any]


def sequence_number(view: IcebergView, *, deletes: bool) -> int:
    """The sequence number of all data files of a view, or of what is deleted from them.

    Deletes apply to data files with their own number, too (Iceberg specification, "Scan Planning"), but
    PyIceberg before 0.11 ignores them there. Data files therefore have a lower one.
    """
    current = snapshot_id(view.snapshot.version)
    return current if deletes else current - 1


def rows_by_path(files: FileSet) -> pa.Table:
    """The files, sorted: the order of a snapshot depends on how a process has read it.

    Returns:
        Some columns of `FILE_SCHEMA`, and `records`, the number of records by the statistics.
    """
    batches = [_with_records(batch) for batch in files.batches(_BATCH_FILES)]
    if not batches:
        return _with_records(FILE_SCHEMA.empty_table())
    table = pa.concat_tables(batches).unify_dictionaries()
    return table.take(pc.sort_indices(table.column("path")))


def _with_records(files: pa.Table) -> pa.Table:
    records = map(number_of_records, files.column("stats").to_pylist())
    known = [each if each in _LONG else UNKNOWN_RECORDS for each in records]
    return files.select(_COLUMNS).append_column("records", pa.array(known, pa.int64()))


class Entries:
    """Makes the entries of a view's manifests."""

    def __init__(self, view: IcebergView) -> None:
        self._view = view
        self._reader = PartitionReader(view.shape)
        own = view.shape.own
        self._own = None if own is None else OwnPartitions(own)
        self._partitions: dict[str, dict[str, Any]] = {}
        self._snapshot = snapshot_id(view.snapshot.version)

    def of_data(self, files: pa.Table) -> Iterator[Entry]:
        """The entries of data files."""
        columns = (
            self._view.paths.of(texts(files.column("path"))),
            texts(files.column("partition_values")),
            integers(files.column("size")),
            integers(files.column("records")),
        )
        for path, partition, size, records in zip(*columns, strict=True):
            yield self._entry(
                content=_DATA,
                file_path=path,
                file_format="PARQUET",
                partition=self._partition(partition),
                record_count=records,
                file_size_in_bytes=size,
            )

    def check_partitions(self, texts_: Iterable[str]) -> None:
        """Check that the entries of data files in these partitions can be made; raises as `of_data`."""
        for text in texts_:
            self._partition(text)

    def of_vectors(self, files: pa.Table, blobs: Sequence[VectorBlob | None]) -> Iterator[Entry]:
        """The entries of the deletion vectors of data files, of which some can have none."""
        data_files = self._view.paths.of(texts(files.column("path")))
        partitions = texts(files.column("partition_values"))
        for path, partition, blob in zip(data_files, partitions, blobs, strict=True):
            if blob is None:
                continue
            [place] = self._view.paths.of([blob.path])
            yield self._entry(
                content=_DELETES,
                file_path=place,
                file_format=blob.file_format.upper(),
                partition=self._partition(partition),
                record_count=blob.cardinality,
                file_size_in_bytes=blob.file_size,
                referenced_data_file=path,
                **_place_in_file(blob, path),
            )

    def _entry(self, **data_file: Any) -> Entry:
        sequence = sequence_number(self._view, deletes=data_file["content"] == _DELETES)
        return {
            "status": _EXISTING,
            "snapshot_id": self._snapshot,
            "sequence_number": sequence,
            "file_sequence_number": sequence,
            "data_file": data_file,
        }

    def _partition(self, text: str) -> dict[str, Any]:
        """The values of a partition by the names of the Avro fields."""
        found = self._partitions.get(text)
        if found is None:
            made = self._of_columns(text) if self._own is None else _of_spec(self._own.of(text))
            found = self._partitions[text] = made
        return found

    def _of_columns(self, text: str) -> dict[str, Any]:
        fields = self._view.shape.partition_fields
        values = self._reader.values(text, range(len(fields)))
        return {
            f"partition_{field.id}": _avro_value(field, values[place])
            for place, field in enumerate(fields)
        }


def _place_in_file(blob: VectorBlob, path: str) -> dict[str, Any]:
    """Where the vector is, or the bounds of the paths in a position delete file.

    Clients find the data file of a position delete file by these bounds.
    """
    if blob.file_format == PUFFIN:
        return {"content_offset": blob.offset, "content_size_in_bytes": blob.size}
    bounds = [{"key": FILE_PATH_ID, "value": path.encode()}]
    return {"lower_bounds": bounds, "upper_bounds": bounds}


def _of_spec(partition: OwnPartition) -> dict[str, Any]:
    values = zip(partition.spec.fields, partition.values, strict=True)
    return {f"partition_{field.id}": _written(value) for field, value in values}


def _written(value: Any) -> Any:
    """A value of an Iceberg table as fastavro writes it."""
    return value.bytes if isinstance(value, uuid.UUID) else value


def _avro_value(field: PartitionField, value: Any) -> Any:
    """The value of an Avro field."""
    type_ = str(field.source.type)
    digits = decimal_digits(type_)
    if value is None:
        return None
    if digits is not None:
        written: Any = _exact(Decimal(value), *digits)
    else:
        limit = _LIMITS.get(type_)
        written = value if limit is None or value in limit else None
    if written is None:
        raise UnsupportedOperation(
            f"the table has a partition whose value of {field.source.name!r} is not a {type_}: "
            "use another protocol",
            detail=repr(value),
        )
    return written


def _exact(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """The value with all digits of the scale, or `None` if a decimal type does not have it."""
    unscaled = value.scaleb(scale, _DIGITS)
    whole = int(unscaled)
    if whole != unscaled or abs(whole) >= 10**precision:
        return None
    return Decimal(whole).scaleb(-scale, _DIGITS)
