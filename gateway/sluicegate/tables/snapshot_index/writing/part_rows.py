"""Rows of parts: the columns of files, and the bounds of data columns."""

from __future__ import annotations

import pyarrow as pa

from sluicegate.tables.derived import DerivedColumns
from sluicegate.tables.packed import PackedTexts
from sluicegate.tables.predicates.bounds import file_bounds
from sluicegate.tables.snapshot_index.layout import FILE_COLUMNS, IndexedColumns


def with_bounds(files: pa.Table, columns: IndexedColumns) -> pa.RecordBatch:
    """Files with the bounds of their data columns, which are read from the statistics.

    Args:
        files: Rows of `FILE_SCHEMA`.
        columns: The columns with bounds.
    """
    texts = files.column("stats").combine_chunks()
    bounds = file_bounds(DerivedColumns(0), PackedTexts(texts), columns.data)
    plain = [files.column(each.name).cast(each.type).combine_chunks() for each in FILE_COLUMNS]
    arrays = [*plain, *columns.arrays_of(bounds)]
    return pa.RecordBatch.from_arrays(arrays, schema=columns.part_schema())
