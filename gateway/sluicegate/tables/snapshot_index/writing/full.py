"""Writes the index of a snapshot that is in memory.

The files are sorted outside of memory: they are distributed to temporary files by their position, which
are then sorted one at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.models import CatalogTable
from sluicegate.tables.snapshot import FileSet, Snapshot
from sluicegate.tables.snapshot_index.folder import IndexFolder
from sluicegate.tables.snapshot_index.layout import PART_ROWS, IndexedColumns
from sluicegate.tables.snapshot_index.writing.index_writer import IndexWriter, WrittenIndex, nothing
from sluicegate.tables.snapshot_index.writing.order import order_of
from sluicegate.tables.snapshot_index.writing.part_rows import with_bounds

_BUCKET_PARTS = 8  # that are sorted together in memory
_READ_ROWS = 8 * 1024


def write_full_index(
    folder: IndexFolder,
    table: CatalogTable,
    snapshot: Snapshot,
    part_rows: int = PART_ROWS,
    check: Callable[[], None] = nothing,
) -> WrittenIndex:
    """Write the index of a snapshot. Takes about 40 seconds for each million files. Blocks.

    The snapshot is in memory. Apart from that, the memory does not depend on the number of files,
    except for 32 bytes for each.

    Args:
        folder: Where to write.
        table: The table in its catalog.
        snapshot: Its newest snapshot.
        part_rows: Files of a part.
        check: Called before each part is written, and often before that. An error ends the build.

    Raises:
        UnsupportedOperation: Tables of this format have no index, or the table has too many partitions.
        StorageError: The folder cannot be written to.
    """
    columns = IndexedColumns.of(snapshot.metadata)
    order = order_of(snapshot.files, columns)
    writer = IndexWriter(folder, table, columns, order.column, check)
    with tempfile.TemporaryDirectory(prefix="sluicegate-index-") as scratch:
        rows = _positioned(snapshot.files, columns, order.positions, check)
        for part in _sorted_parts(rows, len(order.positions), part_rows, Path(scratch)):
            writer.add(part)
    return writer.finish(snapshot)


def _sorted_parts(
    batches: Iterator[pa.RecordBatch], count: int, part_rows: int, scratch: Path
) -> Iterator[pa.Table]:
    """The rows of batches with positions, in that order, in tables of one part each."""
    bucket_rows = _BUCKET_PARTS * part_rows
    buckets = [scratch / str(number) for number in range(-(-count // bucket_rows))]
    _distribute(batches, buckets, bucket_rows)
    for bucket in buckets:
        with pa.OSFile(str(bucket)) as source:
            rows = pa.ipc.open_stream(source).read_all().sort_by("position")
        bucket.unlink()
        rows = rows.drop_columns("position")
        for start in range(0, rows.num_rows, part_rows):
            yield rows.slice(start, part_rows)


def _positioned(
    files: FileSet, columns: IndexedColumns, positions: pa.Array, check: Callable[[], None]
) -> Iterator[pa.RecordBatch]:
    """The live files with their bounds and positions."""
    start = 0
    for batch in files.batches(_READ_ROWS):
        check()
        position = positions.slice(start, batch.num_rows)
        start += batch.num_rows
        yield with_bounds(batch, columns).append_column("position", position)


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
