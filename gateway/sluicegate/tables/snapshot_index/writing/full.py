"""Writes the index of all files of a table.

The files are sorted outside of memory: they are written to a temporary file, distributed to others by
their position, and then sorted one file at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.models import CatalogTable
from sluicegate.tables.delta.log import LogPosition
from sluicegate.tables.snapshot_index.folder import IndexFolder
from sluicegate.tables.snapshot_index.layout import PART_ROWS, IndexedColumns
from sluicegate.tables.snapshot_index.writing.index_writer import IndexWriter, WrittenIndex, nothing
from sluicegate.tables.snapshot_index.writing.order import order_of
from sluicegate.tables.snapshot_index.writing.spilling import COMPRESSED, SpilledFiles, spill

_BUCKET_PARTS = 8  # that are sorted together in memory


def write_full_index(
    folder: IndexFolder,
    table: CatalogTable,
    version: LogPosition,
    files: Iterable[pa.RecordBatch],
    part_rows: int = PART_ROWS,
    check: Callable[[], None] = nothing,
    accept: Callable[[int], None] = lambda _: None,
) -> WrittenIndex:
    """Write an index. Takes about 40 seconds for each million files. Blocks.

    The memory does not depend on the number of files, except for about 40 bytes for each.
    """
    columns = IndexedColumns.of(version.metadata)
    with tempfile.TemporaryDirectory(prefix="sluicegate-index-") as scratch:
        spilled = spill(files, columns, Path(scratch, "files"), check)
        accept(len(spilled))
        order = order_of(spilled, columns)
        writer = IndexWriter(folder, table, columns, order.column, check)
        rows = _positioned(spilled, order.positions, check)
        for part in _sorted_parts(rows, len(spilled), part_rows, Path(scratch)):
            writer.add(part)
    return writer.finish(version)


def _positioned(
    spilled: SpilledFiles, positions: pa.Array, check: Callable[[], None]
) -> Iterator[pa.RecordBatch]:
    """The files with their positions. Removes the temporary file."""
    start = 0
    for batch in spilled.batches():
        check()
        yield batch.append_column("position", positions.slice(start, batch.num_rows))
        start += batch.num_rows
    spilled.path.unlink()


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


def _distribute(batches: Iterator[pa.RecordBatch], buckets: Sequence[Path], bucket_rows: int) -> None:
    with ExitStack() as stack:
        writers: dict[int, pa.RecordBatchWriter] = {}
        for batch in batches:
            numbers = pc.divide(
                batch.column("position"), pa.scalar(bucket_rows, batch.schema.field("position").type)
            )
            for number in pc.unique(numbers).to_pylist():
                if number not in writers:
                    sink = stack.enter_context(pa.OSFile(str(buckets[number]), "wb"))
                    writer = pa.ipc.new_stream(sink, batch.schema, options=COMPRESSED)
                    writers[number] = stack.enter_context(writer)
                writers[number].write_batch(batch.filter(pc.equal(numbers, number)))
