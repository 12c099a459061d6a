"""Information in the log about the values in one chunk of files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sluicegate.tables.derived import DerivedColumns
from sluicegate.tables.predicates.bounds import Bounds, file_bounds, partition_bounds
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.predicates.truth import Truth
from sluicegate.tables.snapshot import FileChunk


class Evidence:
    """Bounds of the columns that a predicate refers to. Statistics are read on demand.

    Args:
        chunk: A chunk of a `FileSet`.
        derived: Caches bounds between requests.
        columns: All columns that can be requested.
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
        """The result of a test of a column's values for each file; partitions are tested once."""
        if column not in self._bounds:
            self._bounds |= self._read(column.is_partition)
        truth = test(self._bounds[column])
        return truth.taken(self._partitions.indices) if column.is_partition else truth

    def _read(self, partitions: bool) -> Mapping[TableColumn, Bounds]:
        """Bounds of all columns of one kind, because each text is then parsed only once."""
        columns = [column for column in self._columns if column.is_partition is partitions]
        if partitions:
            bounds = partition_bounds(self._derived, self._partitions.dictionary, columns)
        else:
            bounds = file_bounds(self._derived, self._stats, columns)
        return dict(zip(columns, bounds, strict=True))
