"""Writes the files of an index: parts, and what describes and finds them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.models import CatalogTable
from sluicegate.tables.delta.log import DeltaState, LogPosition
from sluicegate.tables.delta.replay import file_keys
from sluicegate.tables.predicates.columns import TableColumn
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.layout import (
    LOOKUP_ROWS,
    LOOKUP_SCHEMA,
    PARTITION_SCHEMA,
    IndexedColumns,
)
from sluicegate.tables.snapshot_index.manifest import FileRef, LookupRef, Manifest
from sluicegate.tables.snapshot_index.overlay import key_digests
from sluicegate.tables.snapshot_index.writing.summary import Summary


@dataclass(frozen=True, slots=True)
class KeptParts:
    """Parts of an index that get other numbers."""

    index: SnapshotIndex
    numbers: Mapping[int, int]

    def partitions(self) -> pa.Table:
        """Rows of `PARTITION_SCHEMA`."""
        return self._renumbered(self.index.partitions.cast(PARTITION_SCHEMA))

    def lookups(self) -> Iterator[tuple[int, pa.Table]]:
        """For each lookup, its last key, and rows of `LOOKUP_SCHEMA`. Blocks."""
        for each in self.index.manifest.lookups:
            rows = pa.Table.from_batches(self.index.lookup(each), schema=LOOKUP_SCHEMA)
            yield each.last, self._renumbered(rows)

    def _renumbered(self, rows: pa.Table) -> pa.Table:
        numbers = pa.array(map(self.numbers.get, range(len(self.index))), pa.int32())
        at = rows.schema.get_field_index("part")
        found = rows.set_column(at, rows.schema.field(at), numbers.take(rows.column(at)))
        return found.filter(found.column(at).is_valid())


_MOST_PARTITIONS = 1_000_000
# Columns of which many files have the same value.
_REPEATED = ("partition_values", "tags", "clustering_provider")


def nothing() -> None:
    """Check nothing."""


@dataclass(frozen=True, slots=True)
class WrittenIndex:
    """The files of an index, which gateways use as soon as the manifest is published.

    Attributes:
        bytes: Bytes of all files.
    """

    manifest: Manifest
    digests: frozenset[str]
    parts: int
    kept: int
    bytes: int


class IndexWriter:
    """Writes parts in their order, and keeps parts of a previous index. All methods block.

    Memory grows with the number of parts and partitions, and takes 12 bytes for each file of the parts
    that are written.
    """

    def __init__(
        self,
        folder: IndexFolder,
        table: CatalogTable,
        columns: IndexedColumns,
        sort_column: TableColumn | None,
        check: Callable[[], None] = nothing,
    ) -> None:
        self._folder = folder
        self._table = table
        self._key = table_key(table)
        self._sort_column = sort_column
        self._check = check
        self._summary = Summary(columns, sort_column)
        self._kept: dict[int, int] = {}
        self._lookups: list[pa.Table] = []
        self._partitions: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        """Write the next part; raises as `IndexFolder.write` does."""
        self._check()
        (batch,) = rows.combine_chunks().to_batches()
        number = len(self._summary)
        self._summary.add(self._write(rows, _REPEATED), batch)
        keys = pa.array(key_digests(file_keys(batch).to_pylist()), pa.int64())
        self._lookups.append(_lookup(keys, pa.repeat(pa.scalar(number, pa.int32()), len(keys))))
        self._partitions.append(_partitions(rows, number))

    def keep(self, previous: SnapshotIndex, part: int) -> None:
        """Use a part of a previous index with the same columns as the next part."""
        self._kept[part] = len(self._summary)
        self._summary.keep(previous.summary, part)

    def finish(self, version: LogPosition, previous: SnapshotIndex | None = None) -> WrittenIndex:
        """Write the other files."""
        if not isinstance(version.state, DeltaState):
            raise UnsupportedOperation(f"tables of format '{self._table.format}' cannot be indexed")
        kept = None if previous is None else KeptParts(previous, self._kept)
        manifest = Manifest(
            table=self._key,
            location=self._table.location,
            version=version.version,
            timestamp=version.timestamp,
            protocol=version.protocol,
            metadata=version.metadata,
            newest=version.state.newest,
            files=self._summary.files,
            sorted_by=None if self._sort_column is None else self._sort_column.path,
            built=epoch_ms(),
            summary=self._write(self._summary.table()),
            partitions=self._partitions_file(kept),
            lookups=tuple(self._lookup_files(kept)),
        )
        named = manifest.references()
        digests = frozenset({each.digest for each in named} | self._summary.digests)
        size = self._summary.bytes + sum(each.bytes for each in named)
        return WrittenIndex(manifest, digests, len(self._summary), len(self._kept), size)

    def _partitions_file(self, kept: KeptParts | None) -> FileRef:
        """Write the list of partitions."""
        before = PARTITION_SCHEMA.empty_table() if kept is None else kept.partitions()
        rows = pa.concat_tables([before, *self._partitions])
        if rows.num_rows > _MOST_PARTITIONS:
            raise UnsupportedOperation(
                f"the table has {rows.num_rows} partitions, too many for an index, which supports "
                f"{_MOST_PARTITIONS}: partition it by fewer values, or raise cache.snapshots"
            )
        return self._write(rows)

    def _lookup_files(self, kept: KeptParts | None) -> Iterator[LookupRef]:
        """Write the lookups. Those of a previous index are read one at a time."""
        empty = LOOKUP_SCHEMA.empty_table()
        pending, new = empty, pa.concat_tables([empty, *self._lookups]).sort_by("key")
        for last, rows in () if kept is None else kept.lookups():
            before = new.filter(pc.less_equal(new.column("key"), last))
            new = new.slice(before.num_rows)
            pending = pa.concat_tables([pending, rows, before]).sort_by("key")
            while pending.num_rows >= LOOKUP_ROWS:
                yield self._lookup_file(pending.slice(0, LOOKUP_ROWS))
                pending = pending.slice(LOOKUP_ROWS)
        rest = pa.concat_tables([pending, new])
        for start in range(0, rest.num_rows, LOOKUP_ROWS):
            yield self._lookup_file(rest.slice(start, LOOKUP_ROWS))

    def _lookup_file(self, rows: pa.Table) -> LookupRef:
        keys = rows.column("key")
        return LookupRef(self._write(rows), keys[0].as_py(), keys[-1].as_py())

    def _write(self, rows: pa.Table, repeated: Sequence[str] = ()) -> FileRef:
        import pyarrow.parquet as pq

        sink = io.BytesIO()
        names = [name for name in rows.schema.names if name in repeated]
        pq.write_table(
            rows,
            sink,
            row_group_size=max(1, rows.num_rows),
            compression="zstd",
            use_dictionary=names or False,
            write_statistics=False,
            store_schema=False,
        )
        return self._folder.write(self._key, sink.getvalue())


def _lookup(keys: pa.Array, parts: pa.Array) -> pa.Table:
    return pa.Table.from_arrays([keys, parts], schema=LOOKUP_SCHEMA)


def _partitions(part: pa.Table, number: int) -> pa.Table:
    """Rows of `PARTITION_SCHEMA` for a part."""
    vectors = part.column("deletion_vector").combine_chunks().is_valid().cast(pa.int64())
    rows = part.select(["partition_values", "size"]).append_column("vectors", vectors)
    sums = rows.group_by("partition_values", use_threads=False).aggregate(
        [([], "count_all"), ("size", "sum"), ("vectors", "sum")]
    )
    columns = [
        sums.column("partition_values"),
        pa.repeat(pa.scalar(number, pa.int32()), sums.num_rows),
        sums.column("count_all"),
        sums.column("size_sum"),
        sums.column("vectors_sum"),
    ]
    return pa.Table.from_arrays(columns, schema=PARTITION_SCHEMA)
