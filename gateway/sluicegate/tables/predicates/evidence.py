"""What the log says about the values in one chunk of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from sluicegate.tables.derived import DerivedColumns
from sluicegate.tables.predicates.bounds import Bounds, file_bounds, partition_bounds
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.predicates.truth import Truth


class Evidence:
    """Bounds of the columns that a predicate speaks of, read at once.

    Args:
        chunk: Rows of a `FileSet`'s table.
        derived: Where bounds are kept from one request to the next.
        columns: All columns that will be asked for.
    """

    def __init__(
        self, chunk: pa.RecordBatch, derived: DerivedColumns, columns: Iterable[TableColumn]
    ) -> None:
        partitions = chunk.column("partition_values")
        in_partitions = [column for column in columns if column.is_partition]
        in_files = [column for column in columns if not column.is_partition]
        self._rows = partitions.indices
        self._bounds: dict[TableColumn, Bounds] = {}
        if in_partitions:
            found = partition_bounds(derived, partitions.dictionary, in_partitions)
            self._bounds.update(zip(in_partitions, found, strict=True))
        if in_files:
            found = file_bounds(derived, chunk.column("stats"), in_files)
            self._bounds.update(zip(in_files, found, strict=True))

    def truth(self, column: TableColumn, test: Callable[[Bounds], Truth]) -> Truth:
        """What a test of a column's values says of each file; partitions are tested once each."""
        truth = test(self._bounds[column])
        return truth.taken(self._rows) if column.is_partition else truth
