"""The live files of a table, in an index and in the commits since it was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.delta.replay import FileChanges
from sluicegate.tables.partitions import (
    PartitionValues,
    in_partitions,
    partition_mask,
    partition_texts,
)
from sluicegate.tables.snapshot import FileSet
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.overlay import Overlay

Wanted = Callable[[PartitionValues], bool]


@dataclass(frozen=True, slots=True)
class Totals:
    """Live files, their bytes, and how many of them have deletion vectors."""

    files: int
    size: int
    vectors: int


@dataclass(frozen=True, slots=True)
class IndexedFiles:
    """Live files of which only a part is read for each request.

    It has the totals of a `FileSet`. `select_files` reads the files themselves.

    Attributes:
        wanted: A condition for partitions; `None` if all are wanted.
    """

    index: SnapshotIndex
    overlay: Overlay
    totals: Totals
    parts: Sequence[int]
    added: FileSet
    wanted: Wanted | None = field(default=None, compare=False)

    @classmethod
    def of(cls, index: SnapshotIndex, overlay: Overlay | None = None) -> IndexedFiles:
        """All files of an index and an overlay."""
        overlay = overlay or Overlay()
        totals = _totals(index.partitions, overlay.dead, overlay.added)
        return cls(index, overlay, totals, range(len(index)), overlay.added)

    def __len__(self) -> int:
        """Number of live files."""
        return self.totals.files

    @property
    def size(self) -> int:
        """Bytes of all live data files."""
        return self.totals.size

    @property
    def deletion_vectors(self) -> bool:
        """Whether a live file has a deletion vector."""
        return self.totals.vectors > 0

    @property
    def partition_count(self) -> int:
        """The number of partitions that `in_partitions` decides."""
        return len(self.index.partition_values.dictionary)

    def partition_texts(self) -> set[str]:
        """The texts of the partitions that have live files. Takes about 1 µs for each partition."""
        partitions, dead = self.index.partitions, self.overlay.dead
        if self.wanted is not None:
            partitions, dead = _in_wanted(self.index, self.overlay, self.wanted)
        left = Counter(_per_partition(partitions, "files", "sum"))
        left.subtract(_per_partition(dead, "row", "count"))
        return {text for text, files in left.items() if files > 0} | partition_texts(self.added)

    def after(self, changes: FileChanges) -> IndexedFiles:
        """The files after further commits. Blocks; raises as `Overlay.after` does."""
        return IndexedFiles.of(self.index, self.overlay.after(self.index, changes))

    def in_partitions(self, wanted: Wanted) -> IndexedFiles:
        """Those of these files whose partition satisfies a condition, too.

        Takes about 1 µs for each partition.
        """
        wanted = _both(self.wanted, wanted)
        partitions, dead = _in_wanted(self.index, self.overlay, wanted)
        added = in_partitions(self.overlay.added, wanted) if len(self.overlay.added) else self.added
        return replace(
            self,
            totals=_totals(partitions, dead, added),
            parts=sorted(set(partitions.column("part").to_pylist())),
            added=added,
            wanted=wanted,
        )


def _both(one: Wanted | None, other: Wanted) -> Wanted:
    """A condition that is at least as strict as each of two."""
    return other if one is None else lambda values: one(values) and other(values)


def _in_wanted(index: SnapshotIndex, overlay: Overlay, wanted: Wanted) -> tuple[pa.Table, pa.Table]:
    """The partitions of an index that satisfy a condition, and the dead rows in them."""
    partitions = index.partitions.filter(partition_mask(index.partition_values, wanted))
    values = overlay.dead.column("partition_values").combine_chunks().dictionary_encode()
    return partitions, overlay.dead.filter(partition_mask(values, wanted))


def _per_partition(table: pa.Table, column: str, function: str) -> dict[str, int]:
    """The sum or count of a column for each partition, by its text."""
    grouped = table.group_by("partition_values", use_threads=False).aggregate([(column, function)])
    texts = grouped.column("partition_values").to_pylist()
    return dict(zip(texts, grouped.column(f"{column}_{function}").to_pylist(), strict=True))


def _totals(partitions: pa.Table, dead: pa.Table, added: FileSet) -> Totals:
    return Totals(
        _sum(partitions, "files") - len(dead) + len(added),
        _sum(partitions, "size") - _sum(dead, "size") + added.size,
        _sum(partitions, "vectors") - _sum(dead, "vectors") + _vectors(added),
    )


def _sum(table: pa.Table, name: str) -> int:
    return int(pc.sum(table.column(name)).as_py() or 0)


def _vectors(files: FileSet) -> int:
    present = files.table.column("deletion_vector").is_valid()
    if files.live is not None:
        present = pc.and_(present, files.live)
    return int(pc.sum(present).as_py() or 0)
