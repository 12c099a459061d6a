"""Reads position delete files of format version 2 (Iceberg specification, "Position Deletes")."""

from __future__ import annotations

from array import array

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from sluicegate.api import Budget
from sluicegate.formats import parquet_batches
from sluicegate_iceberg.format.broken import in_file

_PATH, _ROW = "file_path", "pos"
_ROW_BYTES = 8
_WHAT = "a delete file"
_SCHEMA = pa.schema([pa.field(_PATH, pa.string()), pa.field(_ROW, pa.int64())])
_NUMBERED = pa.schema([pa.field(_PATH, pa.int32()), pa.field(_ROW, pa.int64())])


def positions_by_file(data: bytes, budget: Budget | None = None, what: str = _WHAT) -> pa.Table:
    """Return the content of a file as `file_path` and `pos_list`, one row per data file."""
    numbers: dict[str, int] = {}
    with in_file(what):
        parts = [
            _numbered(batch, numbers)
            for batch in parquet_batches(data, _SCHEMA, what, budget or Budget())
        ]
        # Paths are long and repeat, so they are replaced by numbers until the rows are combined.
        rows = pa.Table.from_batches(parts, schema=_NUMBERED)
        grouped = rows.group_by(_PATH).aggregate([(_ROW, "list")])
        paths = pc.take(pa.array(list(numbers), pa.string()), grouped.column(_PATH))
        return grouped.set_column(grouped.schema.get_field_index(_PATH), _PATH, paths)


def _numbered(batch: pa.RecordBatch, numbers: dict[str, int]) -> pa.RecordBatch:
    """Return a batch with numbers instead of paths. New paths are added."""
    paths = _checked(batch).column(_PATH)
    used = pc.unique(paths.indices)
    known = [numbers.setdefault(path, len(numbers)) for path in paths.dictionary.take(used).to_pylist()]
    column = pc.take(pa.array(known, pa.int32()), pc.index_in(paths.indices, used))
    return pa.RecordBatch.from_arrays([column, batch.column(_ROW)], schema=_NUMBERED)


def rows_in(data: bytes, data_file: str, budget: Budget | None = None, what: str = _WHAT) -> BitMap64:
    """Return the rows of one data file. Row groups without that file are not decoded."""
    rows = BitMap64()
    with in_file(what):
        for batch in parquet_batches(data, _SCHEMA, what, budget or Budget(), (_PATH, data_file)):
            paths = _checked(batch).column(_PATH)
            number = paths.dictionary.index(data_file).as_py()
            if number >= 0:
                rows |= row_set(batch.column(_ROW).filter(pc.equal(paths.indices, number)))
    return rows


def row_set(positions: pa.Int64Array) -> BitMap64:
    """Return positions as a bitmap, without creating a Python object for each."""
    values = array("Q")
    if not len(positions):
        return BitMap64()
    buffer = memoryview(positions.buffers()[1])
    start = positions.offset * _ROW_BYTES
    values.frombytes(buffer[start : start + len(positions) * _ROW_BYTES])
    return BitMap64(values)


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    paths, rows = batch.column(_PATH), batch.column(_ROW)
    if paths.null_count or rows.null_count or (len(rows) and pc.min(rows).as_py() < 0):
        raise ValueError("a position is missing or negative")
    return batch
