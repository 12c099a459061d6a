"""The parts into which files sort, by the first file of each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.layout import FIRST_LOW
from sluicegate.tables.snapshot_index.writing.order import SORT_KEYS, partition_ranks, rank_column


@dataclass(frozen=True, slots=True)
class Placement:
    """The order of the files of an index and of files that are added to it.

    Attributes:
        index: The index.
        ranks: The rank of each partition.
    """

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
