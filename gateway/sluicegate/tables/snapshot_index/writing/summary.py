"""The summary of an index: where each part is, and the bounds of all of its files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.predicates.bounds import Bounds, partition_bounds
from sluicegate.tables.predicates.columns import Family, TableColumn
from sluicegate.tables.snapshot_index.layout import IndexedColumns
from sluicegate.tables.snapshot_index.manifest import FileRef

# Longer texts are cut, so that the summary stays small.
_TEXT_BYTES = 256
_AFTER_ALL_TEXT = b"\xff"
_DIGEST, _BYTES, _ROWS = range(3)  # where these are in a row


class Summary:
    """Collects a row for each part."""

    def __init__(self, columns: IndexedColumns, sort_column: TableColumn | None) -> None:
        self._columns = columns
        self._sort_column = sort_column
        self._rows: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        """Number of parts."""
        return len(self._rows)

    @property
    def files(self) -> int:
        """Number of files in all parts."""
        return sum(row[_ROWS] for row in self._rows)

    @property
    def bytes(self) -> int:
        """Bytes of all parts."""
        return sum(row[_BYTES] for row in self._rows)

    @property
    def digests(self) -> set[str]:
        """The digests of all parts."""
        return {row[_DIGEST] for row in self._rows}

    def add(self, file: FileRef, part: pa.RecordBatch) -> None:
        """Add a part: where it is, and its rows."""
        values = pc.unique(part.column("partition_values"))
        bounds = [
            *partition_bounds(DerivedColumns(0), values, self._columns.partitions),
            *self._columns.bounds_in(part, self._columns.data),
        ]
        pairs = zip(self._columns.all, bounds, strict=True)
        cut = [_cut(column.type.family, joined(each)) for column, each in pairs]
        place = file.digest, file.bytes, part.num_rows
        self._rows.append((*place, *self._first(part), *(v for row in cut for v in row)))

    def keep(self, summary: pa.RecordBatch, part: int) -> None:
        """Add a part of another summary with the same columns."""
        self._rows.append(tuple(column[part].as_py() for column in summary.columns))

    def table(self) -> pa.Table:
        """The summary."""
        schema = self._columns.summary_schema(self._sort_column)
        columns: Sequence[Sequence[Any]] = list(zip(*self._rows, strict=True))
        arrays = [
            pa.array(columns[number] if columns else [], field.type)
            for number, field in enumerate(schema)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _first(self, part: pa.RecordBatch) -> tuple[Any, ...]:
        """The partition of the first file, and its lowest value if files are sorted by it."""
        partition = part.column("partition_values")[0].as_py()
        if self._sort_column is None:
            return (partition,)
        (bounds,) = self._columns.bounds_in(part, [self._sort_column])
        low = bounds.low[0].as_py()
        return partition, low[:_TEXT_BYTES] if isinstance(low, bytes) else low


def joined(bounds: Bounds) -> tuple[Any, Any, bool, bool]:
    """The range that contains the ranges of all files. A bound that one file lacks is unknown."""
    # A file without values has no range, and does not extend that of the others.
    ranged = pa.table({"low": bounds.low, "high": bounds.high}).filter(bounds.has_value)
    low, high = ranged.column("low"), ranged.column("high")
    return (
        None if low.null_count else pc.min(low).as_py(),
        None if high.null_count else pc.max(high).as_py(),
        bool(pc.any(bounds.has_null).as_py()),
        bool(pc.any(bounds.has_value).as_py()),
    )


def _cut(family: Family, row: tuple[Any, Any, bool, bool]) -> tuple[Any, Any, bool, bool]:
    """The row with shorter texts: the lower bound gets lower, and the upper bound higher."""
    low, high, has_null, has_value = row
    if family is not Family.STRING:
        return row
    if low is not None:
        low = low[:_TEXT_BYTES]
    if high is not None and len(high) > _TEXT_BYTES:
        high = high[:_TEXT_BYTES] + _AFTER_ALL_TEXT
    return low, high, has_null, has_value
