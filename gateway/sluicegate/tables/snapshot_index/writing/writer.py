"""Writes the index of a snapshot.

The files are sorted outside of memory: they are distributed to temporary files by their position, which
are then sorted one at a time.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import UnsupportedOperation
from sluicegate.api.models import CatalogTable
from sluicegate.tables.delta.log import DeltaState
from sluicegate.tables.delta.replay import file_keys
from sluicegate.tables.derived import DerivedColumns
from sluicegate.tables.packed import PackedTexts
from sluicegate.tables.predicates.bounds import file_bounds
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.layout import (
    FILE_COLUMNS,
    LOOKUP_ROWS,
    LOOKUP_SCHEMA,
    PART_ROWS,
    PARTITION_SCHEMA,
    IndexedColumns,
)
from sluicegate.tables.snapshot_index.manifest import FileRef, LookupRef, Manifest
from sluicegate.tables.snapshot_index.overlay import key_digests
from sluicegate.tables.snapshot_index.writing.order import order_of
from sluicegate.tables.snapshot_index.writing.summary import Summary

_BUCKET_PARTS = 8  # that are sorted together in memory
_READ_ROWS = 8 * 1024
_MOST_PARTITIONS = 1_000_000
# Columns of which many files have the same value.
_REPEATED = ("partition_values", "tags", "clustering_provider")


def write_index(
    folder: IndexFolder, table: CatalogTable, snapshot: Snapshot, part_rows: int = PART_ROWS
) -> Manifest:
    """Write the index of a snapshot, and publish it. The previous index is used until then. Blocks.

    The snapshot is in memory. Apart from that, the memory does not depend on the number of files,
    except for 32 bytes for each.

    Args:
        folder: Where to write.
        table: The table in its catalog.
        snapshot: Its newest snapshot.
        part_rows: Files of a part.

    Raises:
        UnsupportedOperation: Tables of this format have no index.
    """
    if not isinstance(snapshot.state, DeltaState):
        raise UnsupportedOperation(f"tables of format '{table.format}' cannot be indexed")
    key, columns = table_key(table), IndexedColumns.of(snapshot.metadata)
    writer = _Writer(folder, key, columns)
    with tempfile.TemporaryDirectory(prefix="sluicegate-index-") as scratch:
        for part in _sorted_parts(snapshot.files, columns, part_rows, Path(scratch)):
            writer.add(part)
    manifest = Manifest(
        table=key,
        location=table.location,
        version=snapshot.version,
        timestamp=snapshot.timestamp,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        newest=snapshot.state.newest,
        files=len(snapshot.files),
        built=epoch_ms(),
        summary=writer.summary_file(),
        partitions=writer.partitions_file(),
        lookups=tuple(writer.lookup_files()),
    )
    folder.publish(manifest)
    return manifest


@dataclass
class _Writer:
    """Writes parts, and collects what the other files say about them."""

    folder: IndexFolder
    key: str
    columns: IndexedColumns
    digests: list[pa.Array] = field(default_factory=list)
    partitions: list[pa.Table] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._summary = Summary(self.columns)

    def add(self, part: pa.Table) -> None:
        """Write a part."""
        (batch,) = part.combine_chunks().to_batches()
        number = len(self.digests)
        self._summary.add(self._write(part, _REPEATED), batch)
        self.digests.append(pa.array(key_digests(file_keys(batch).to_pylist()), pa.int64()))
        self.partitions.append(_partitions(part, number))

    def summary_file(self) -> FileRef:
        """Write the summary."""
        return self._write(self._summary.table())

    def partitions_file(self) -> FileRef:
        """Write the list of partitions.

        Raises:
            UnsupportedOperation: There are too many to keep them in memory.
        """
        rows = pa.concat_tables([PARTITION_SCHEMA.empty_table(), *self.partitions])
        if rows.num_rows > _MOST_PARTITIONS:
            raise UnsupportedOperation(
                f"the table has {rows.num_rows} partitions, too many for an index, which supports "
                f"{_MOST_PARTITIONS}: partition it by fewer values, or raise cache.snapshots"
            )
        return self._write(rows)

    def lookup_files(self) -> Iterator[LookupRef]:
        """Write the lookups."""
        parts = [
            pa.repeat(pa.scalar(number, pa.int32()), len(each))
            for number, each in enumerate(self.digests)
        ]
        columns = [pa.chunked_array(self.digests, pa.int64()), pa.chunked_array(parts, pa.int32())]
        rows = pa.Table.from_arrays(columns, schema=LOOKUP_SCHEMA).sort_by("key")
        for start in range(0, rows.num_rows, LOOKUP_ROWS):
            some = rows.slice(start, LOOKUP_ROWS)
            first, last = some.column("key")[0].as_py(), some.column("key")[-1].as_py()
            yield LookupRef(self._write(some), first, last)

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
        return self.folder.write(self.key, sink.getvalue())


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


def _sorted_parts(
    files: FileSet, columns: IndexedColumns, part_rows: int, scratch: Path
) -> Iterator[pa.Table]:
    """The live files with their bounds, in order, in tables of one part each."""
    positions = order_of(files, columns).positions
    bucket_rows = _BUCKET_PARTS * part_rows
    buckets = [scratch / str(number) for number in range(-(-len(positions) // bucket_rows))]
    _distribute(_positioned(files, columns, positions), buckets, bucket_rows)
    for bucket in buckets:
        with pa.OSFile(str(bucket)) as source:
            rows = pa.ipc.open_stream(source).read_all().sort_by("position")
        bucket.unlink()
        rows = rows.drop_columns("position")
        for start in range(0, rows.num_rows, part_rows):
            yield rows.slice(start, part_rows)


def _positioned(
    files: FileSet, columns: IndexedColumns, positions: pa.Array
) -> Iterator[pa.RecordBatch]:
    """The live files with their bounds and positions."""
    start, schema = 0, columns.part_schema()
    for batch in files.batches(_READ_ROWS):
        texts = batch.column("stats").combine_chunks()
        bounds = file_bounds(DerivedColumns(0), PackedTexts(texts), columns.data)
        plain = [batch.column(each.name).cast(each.type).combine_chunks() for each in FILE_COLUMNS]
        arrays = [*plain, *columns.arrays_of(bounds), positions.slice(start, batch.num_rows)]
        start += batch.num_rows
        yield pa.RecordBatch.from_arrays(
            arrays, schema=schema.append(pa.field("position", positions.type))
        )


def _distribute(batches: Iterator[pa.RecordBatch], buckets: Sequence[Path], bucket_rows: int) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with ExitStack() as stack:
        writers: dict[int, pa.RecordBatchWriter] = {}
        for batch in batches:
            numbers = pc.divide(
                batch.column("position"), pa.scalar(bucket_rows, batch.schema.field("position").type)
            )
            for number in pc.unique(numbers).to_pylist():
                if number not in writers:
                    sink = stack.enter_context(pa.OSFile(str(buckets[number]), "wb"))
                    writer = pa.ipc.new_stream(sink, batch.schema, options=options)
                    writers[number] = stack.enter_context(writer)
                writers[number].write_batch(batch.filter(pc.equal(numbers, number)))
