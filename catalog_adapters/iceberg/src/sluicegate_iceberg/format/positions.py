"""Files of positions, which delete rows in version 2 (Iceberg specification, "Position Deletes")."""

from __future__ import annotations

from array import array
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from sluicegate.api import TableUnreadable

_PATH, _ROW = "file_path", "pos"
_ROW_BYTES = 8


def positions_by_file(data: bytes) -> pa.Table:
    """What a file says: columns `file_path` and `pos_list`, a row for each data file.

    Raises:
        TableUnreadable: It is broken.
    """
    return _read(data).group_by(_PATH).aggregate([(_ROW, "list")])


def rows_in(data: bytes, data_file: str) -> BitMap64:
    """What a file says of one data file; all the rest of it is not decoded where that can be told.

    Raises:
        TableUnreadable: It is broken.
    """
    rows = BitMap64()
    for chunk in _read(data, pc.field(_PATH) == data_file).column(_ROW).chunks:
        rows |= row_set(chunk)
    return rows


def row_set(positions: pa.Int64Array) -> BitMap64:
    """Positions as a set; no Python object is made for each."""
    values = array("Q")
    buffer = memoryview(positions.buffers()[1])
    start = positions.offset * _ROW_BYTES
    values.frombytes(buffer[start : start + len(positions) * _ROW_BYTES])
    return BitMap64(values)


def _read(data: bytes, filters: Any = None) -> pa.Table:
    try:
        table = pq.read_table(pa.BufferReader(data), columns=[_PATH, _ROW], filters=filters)
        if table.column(_ROW).type != pa.int64() or table.column(_ROW).null_count:
            raise KeyError(_ROW)
    except (pa.ArrowException, KeyError) as error:
        raise TableUnreadable(
            "a delete file of the Iceberg table is broken", detail=str(error)
        ) from error
    return table
