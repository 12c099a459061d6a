"""The order of files in an index: by partition, and in a partition by the most selective column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.derived_columns import DerivedColumns
from sluicegate.tables.predicates.bounds import Bounds, partition_bounds
from sluicegate.tables.predicates.columns import Family, TableColumn
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.layout import FIRST_LOW, IndexedColumns
from sluicegate.tables.snapshot_index.writing.spilling import SpilledFiles

# Files of which at least so many have known bounds, or the column does not order them.
_LEAST_KNOWN = 0.5
SORT_KEYS = (("rank", "ascending"), ("low", "ascending"))
"""The order: by the rank of partitions, and then by the lowest value of the sort column."""

_NUMBERS = frozenset(Family) - {Family.STRING, Family.OTHER}


@dataclass(frozen=True, slots=True)
class FileOrder:
    """Where each file comes in the order."""

    positions: pa.Array
    column: TableColumn | None


def order_of(spilled: SpilledFiles, columns: IndexedColumns) -> FileOrder:
    """Order files. Takes 32 bytes of memory for each of them, and more if a text orders them."""
    ranks = partition_ranks(spilled.partitions, columns.partitions)
    of_codes = pa.array([ranks[text] for text in spilled.partitions], pa.int32())
    column = _most_selective(
        [columns.bounds_in(each, columns.data) for each in spilled.samples], columns
    )
    lows = pa.nulls(len(spilled), pa.int64())
    if column is not None:
        low, *_ = columns.bounds_fields([column])
        lows = spilled.column(low)
    table = pa.table({"rank": of_codes.take(spilled.codes), "low": lows})
    rows = pc.sort_indices(table, sort_keys=SORT_KEYS)
    return FileOrder(pc.sort_indices(rows), column)  # of a permutation, this is the inverse


def partition_ranks(found: Iterable[str], columns: Sequence[TableColumn]) -> Mapping[str, int]:
    """The rank of each distinct partition, by its values, and not by their texts: 9 is before 10."""
    texts = sorted(set(found))
    lows = [
        bounds.low.to_pylist()
        for bounds in partition_bounds(DerivedColumns(0), pa.array(texts, pa.string()), columns)
    ]
    keys = [[(low is not None, low) for low in row] for row in zip(*lows, strict=True)]
    ordered = sorted(range(len(texts)), key=keys.__getitem__) if keys else range(len(texts))
    return {texts[row]: rank for rank, row in enumerate(ordered)}


def rank_column(values: pa.DictionaryArray, ranks: Mapping[str, int]) -> pa.Array:
    """The rank of each file, from the texts of their partitions."""
    found = [ranks[text] for text in values.dictionary.to_pylist()]
    return pa.array(found, pa.int32()).take(values.indices)


def _most_selective(samples: Sequence[Sequence[Bounds]], columns: IndexedColumns) -> TableColumn | None:
    """The data column whose ranges of values overlap the least, in samples of the files."""
    overlaps = {
        column: overlap
        for number, column in enumerate(columns.data)
        if (overlap := _overlap(column, [sample[number] for sample in samples])) is not None
    }
    return min(overlaps, key=overlaps.__getitem__, default=None)


def _overlap(column: TableColumn, samples: Sequence[Bounds]) -> float | None:
    """The average width of the ranges in relation to all values. `None` if too few are known.

    Texts have no width: they count as if half of them overlapped.
    """
    lows = [low for sample in samples for low in sample.low.to_pylist()]
    highs = [high for sample in samples for high in sample.high.to_pylist()]
    known: list[tuple[Any, Any]] = [
        (low, high)
        for low, high in zip(lows, highs, strict=True)
        if low is not None and high is not None
    ]
    if not known or len(known) < _LEAST_KNOWN * len(lows):
        return None
    if column.type.family not in _NUMBERS:
        return 0.5
    ranges = [(float(low), float(high)) for low, high in known]
    width = max(high for _, high in ranges) - min(low for low, _ in ranges)
    if not 0 < width < float("inf"):
        return None
    return sum(high - low for low, high in ranges) / len(ranges) / width


@dataclass(frozen=True, slots=True)
class Placement:
    """The order of the files of an index and of files that are added to it."""

    index: SnapshotIndex
    ranks: Mapping[str, int]

    @classmethod
    def of(cls, index: SnapshotIndex, added: pa.Table) -> Placement:
        """The order of the files of an index and of some rows of parts."""
        old = index.partition_values.dictionary.to_pylist()
        new = pc.unique(added.column("partition_values")).to_pylist()
        return cls(index, partition_ranks([*old, *new], index.columns.partitions))

    def sorted(self, rows: pa.Table) -> pa.Table:
        """Rows of parts in the order."""
        return rows.take(pc.sort_indices(self._keys(rows), sort_keys=SORT_KEYS))

    def parts_of(self, rows: pa.Table) -> pa.Array:
        """For each of some sorted rows of parts, the last part that does not begin after it.

        Rows that come before all parts are in the first one.
        """
        firsts = self._firsts()
        every = pa.concat_tables([firsts, self._keys(rows)])
        starts = pa.repeat(1, firsts.num_rows), pa.repeat(0, rows.num_rows)
        # The sort is stable: a part begins before the rows that are equal to its first one.
        in_order = pc.sort_indices(every, sort_keys=SORT_KEYS)
        begun = pc.cumulative_sum(pa.concat_arrays(starts).take(in_order))
        is_row = pc.greater_equal(in_order, firsts.num_rows)
        return pc.max_element_wise(pc.subtract(begun.filter(is_row), 1), 0)

    def _keys(self, rows: pa.Table) -> pa.Table:
        sort_column = self.index.sort_column
        lows = None
        if sort_column is not None:
            low, *_ = self.index.columns.bounds_fields([sort_column])
            lows = rows.column(low.name)
        return self._table(rows.column("partition_values"), lows)

    def _firsts(self) -> pa.Table:
        """The keys of the first row of each part."""
        summary = pa.Table.from_batches([self.index.summary])
        lows = None if self.index.sort_column is None else summary.column(FIRST_LOW)
        return self._table(summary.column("first_partition").cast(pa.string()), lows)

    def _table(self, partitions: pa.ChunkedArray, lows: pa.ChunkedArray | None) -> pa.Table:
        ranks = rank_column(partitions.combine_chunks().dictionary_encode(), self.ranks)
        if lows is None:
            lows = pa.nulls(len(ranks), pa.int64())
        return pa.table({"rank": ranks, "low": lows})
