"""What the log says about the values in one chunk of files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sluicegate.tables.derived import DerivedColumns
from sluicegate.tables.predicates.bounds import Bounds, file_bounds, partition_bounds
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.predicates.truth import Truth
from sluicegate.tables.snapshot import FileChunk


class Evidence:
    """Bounds of the columns that a predicate speaks of; statistics are read when one is asked for.

    Args:
        chunk: One of a `FileSet`.
        derived: Where bounds are kept from one request to the next.
        columns: All columns that may be asked for.
    """

    def __init__(
        self, chunk: FileChunk, derived: DerivedColumns, columns: Collection[TableColumn]
    ) -> None:
        self._partitions = chunk.plain.column("partition_values")
        self._stats = chunk.stats
        self._derived = derived
        self._columns = columns
        self._bounds: dict[TableColumn, Bounds] = {}

    def truth(self, column: TableColumn, test: Callable[[Bounds], Truth]) -> Truth:
        """What a test of a column's values says of each file; partitions are tested once each."""
        if column not in self._bounds:
            self._bounds |= self._read(column.is_partition)
        truth = test(self._bounds[column])
        return truth.taken(self._partitions.indices) if column.is_partition else truth

    def _read(self, partitions: bool) -> Mapping[TableColumn, Bounds]:
        """Bounds of all columns of one kind: parsing a text once is less work than once for each."""
        columns = [column for column in self._columns if column.is_partition is partitions]
        if partitions:
            bounds = partition_bounds(self._derived, self._partitions.dictionary, columns)
        else:
            bounds = file_bounds(self._derived, self._stats, columns)
        return dict(zip(columns, bounds, strict=True))
