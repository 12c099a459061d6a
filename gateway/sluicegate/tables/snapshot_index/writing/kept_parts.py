"""What the lookups and partitions of an index say about the parts that the next index keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.layout import LOOKUP_SCHEMA, PARTITION_SCHEMA


@dataclass(frozen=True, slots=True)
class KeptParts:
    """Parts of an index that get other numbers.

    Attributes:
        index: The index.
        numbers: The new number of each kept part.
    """

    index: SnapshotIndex
    numbers: Mapping[int, int]

    def partitions(self) -> pa.Table:
        """Rows of `PARTITION_SCHEMA`."""
        return self._renumbered(self.index.partitions.cast(PARTITION_SCHEMA))

    def lookups(self) -> Iterator[tuple[int, pa.Table]]:
        """For each lookup, its last key, and rows of `LOOKUP_SCHEMA`. Blocks.

        Raises:
            IndexUnusable: A lookup is missing or damaged.
        """
        for each in self.index.manifest.lookups:
            rows = pa.Table.from_batches(self.index.lookup(each), schema=LOOKUP_SCHEMA)
            yield each.last, self._renumbered(rows)

    def _renumbered(self, rows: pa.Table) -> pa.Table:
        numbers = pa.array(map(self.numbers.get, range(len(self.index))), pa.int32())
        at = rows.schema.get_field_index("part")
        found = rows.set_column(at, rows.schema.field(at), numbers.take(rows.column(at)))
        return found.filter(found.column(at).is_valid())
