"""What is known about the values in files, for the conditions of a predicate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping

from sluicegate.tables.derived import DerivedColumns
from sluicegate.tables.predicates.bounds import Bounds, file_bounds, partition_bounds
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.predicates.truth import Truth
from sluicegate.tables.snapshot import FileChunk


class Evidence(ABC):
    """Bounds of the columns that a predicate refers to, for files or for groups of files."""

    @abstractmethod
    def truth(self, column: TableColumn, test: Callable[[Bounds], Truth]) -> Truth:
        """The result of a test of a column's values, for each file or group."""


class FileEvidence(Evidence):
    """Bounds of one chunk of files. Statistics are read on demand.

    Args:
        chunk: A chunk of a `FileSet`.
        derived: Caches bounds between requests.
        columns: All columns that can be requested.
        known: Bounds of some of the columns, which are not read from the statistics again.
    """

    def __init__(
        self,
        chunk: FileChunk,
        derived: DerivedColumns,
        columns: Collection[TableColumn],
        known: Mapping[TableColumn, Bounds] | None = None,
    ) -> None:
        self._partitions = chunk.plain.column("partition_values")
        self._stats = chunk.stats
        self._derived = derived
        self._bounds: dict[TableColumn, Bounds] = dict(known or {})
        self._columns = [column for column in columns if column not in self._bounds]

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
