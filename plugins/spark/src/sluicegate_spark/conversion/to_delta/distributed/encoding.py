"""Encodes the lines of a commit on Spark's executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sluicegate.formats import FILE_SCHEMA, FileChunk, FileSet
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds
from sluicegate_spark.conversion.to_delta.delta_log import add_lines, remove_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LINES = pa.schema(
    [
        ("lines", pa.binary()),
        ("length", pa.int64()),
        ("added", pa.int64()),
        ("removed", pa.int64()),
        ("size", pa.int64()),
        ("vectors", pa.bool_()),
    ]
)
SPARK_LINES: Final = "lines binary, length long, added long, removed long, size long, vectors boolean"
_Batches = Iterable[pa.RecordBatch]


def add_rows(files: DataFrame, bounds: ColumnBounds) -> DataFrame:
    """Return lines that add files."""
    return files.mapInArrow(partial(_added, bounds), SPARK_LINES)


def remove_rows(files: DataFrame, now: int) -> DataFrame:
    """Return lines that remove files."""
    return files.mapInArrow(partial(_removed, now), SPARK_LINES)


def file_set(batch: pa.RecordBatch) -> FileSet:
    """Return the files of a batch that has some of the columns of `FILE_SCHEMA`."""
    known = dict(zip(batch.schema.names, batch.columns, strict=True))
    partitions = known.get("partition_values", pa.repeat("{}", len(batch))).dictionary_encode()
    columns = {**known, "partition_values": partitions}
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(len(batch), field.type)
        for field in FILE_SCHEMA
    ]
    return FileSet.of([FileChunk.of(pa.RecordBatch.from_arrays(arrays, schema=FILE_SCHEMA))])


def _added(bounds: ColumnBounds, batches: _Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        files = file_set(batch)
        yield _row(add_lines(files, bounds), files, len(files), 0)


def _removed(now: int, batches: _Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        files = file_set(batch)
        yield _row(remove_lines(files, now), files, 0, len(files))


def _row(lines: Iterator[bytes], files: FileSet, added: int, removed: int) -> pa.RecordBatch:
    content = b"".join(lines)
    row = {
        "lines": content,
        "length": len(content),
        "added": added,
        "removed": removed,
        "size": files.size if added else 0,
        "vectors": bool(added) and files.deletion_vectors,
    }
    return pa.RecordBatch.from_pylist([row], _LINES)
