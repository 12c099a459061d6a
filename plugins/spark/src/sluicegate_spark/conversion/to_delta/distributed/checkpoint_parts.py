"""Writes a checkpoint on Spark's executors, from the previous checkpoint and the commits after it.

A file belongs to a part by its path, so that parts which two attempts write have the same files.
Source: Delta protocol, "Checkpoints", "Multi-part checkpoint".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

import obstore
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from obstore.exceptions import BaseError

from sluicegate.api import StorageError, TableUnreadable
from sluicegate_spark.conversion.executor_errors import raise_failure
from sluicegate_spark.conversion.to_delta.checkpoints import CHECKPOINT, header_actions, pointer_of
from sluicegate_spark.conversion.to_delta.distributed.log_files import LogFiles, key_of
from sluicegate_spark.conversion.to_delta.distributed.log_rows import LogReader, newest
from sluicegate_spark.conversion.to_delta.distributed.problems import PROBLEM, caught
from sluicegate_spark.failures import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sluicegate.formats import TableMetadata, TableProtocol

_FILES_A_PART: Final = 100_000
_WRITTEN = pa.schema(
    [("rows", pa.int64()), ("bytes", pa.int64()), ("files", pa.int64()), (PROBLEM, pa.string())]
)
_SPARK_WRITTEN = "rows long, bytes long, files long, problem string"
_ADDED = {
    "path": "uri",
    "size": "size",
    "modificationTime": "modification_time",
    "stats": "stats",
    "deletionVector": "deletion_vector",
}
_REMOVED = {
    "path": "uri",
    "size": "size",
    "deletionVector": "deletion_vector",
    "deletionTimestamp": "deletion_timestamp",
}


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a checkpoint."""

    reader: LogReader
    version: int
    count: int
    header: Mapping[str, Any]

    def name(self, number: int) -> str:
        """Return the name of a part, counted from 0."""
        part = f".{number + 1:010}.{self.count:010}" if self.count > 1 else ""
        return f"{self.version:020}.checkpoint{part}.parquet"


@dataclass(frozen=True, slots=True)
class CheckpointedVersion:
    """A committed version, without its files."""

    version: int
    protocol: TableProtocol
    metadata: TableMetadata
    files: int


def write_parts(
    spark: SparkSession, reader: LogReader, log: LogFiles, state: CheckpointedVersion, oldest: int
) -> None:
    """Write the checkpoint of a version, and then the file that refers to it."""
    segment = next(log.segments(state.version, before=state.version), None)
    if segment is None:
        raise TableUnreadable("the Delta log lacks commits")
    count = max(1, -(-state.files // _FILES_A_PART))
    parts = Parts(reader, state.version, count, header_actions(state.protocol, state.metadata))
    kept = f"kind = 'add' OR deletion_timestamp > {oldest} OR problem IS NOT NULL"
    actions = newest(reader.actions(spark, segment)).where(kept)
    numbered = actions.selectExpr("*", f"CAST(pmod(xxhash64(path), {count}) AS int) AS part")
    # A part without files is written, too.
    every = spark.range(count).selectExpr("CAST(id AS int) AS part")
    sorted_ = numbered.unionByName(every, allowMissingColumns=True).repartition(count, "part")
    written = sorted_.sortWithinPartitions("part").mapInArrow(partial(_write, parts), _SPARK_WRITTEN)
    total = written.selectExpr(
        "sum(rows) AS rows", "sum(bytes) AS bytes", "sum(files) AS files", "max(problem) AS problem"
    ).collect()[0]
    raise_failure(total[PROBLEM])
    rows, size, files = (int(total[name]) for name in ("rows", "bytes", "files"))
    directory = reader.directory()
    pointer = pointer_of(state.version, rows, size, files, count)
    obstore.put(directory.store, key_of(directory, "_last_checkpoint"), orjson.dumps(pointer))


def _write(parts: Parts, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    remaining = _runs(batches)
    run = next(remaining, None)
    while run is not None:
        number = run[0]
        with TemporaryFile() as file:
            part = _Part(file, parts, number)
            while run is not None and run[0] == number:
                yield from caught(part.add(run[1]), _WRITTEN)
                run = next(remaining, None)
            yield from caught(part.finish(), _WRITTEN)


def _runs(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of one part at a time. Rows are sorted by their part."""
    for batch in batches:
        numbers = batch.column("part")
        start = 0
        for each in numbers.value_counts().to_pylist():
            yield each["values"], batch.slice(start, each["counts"])
            start += each["counts"]


class _Part:
    def __init__(self, file: IO[bytes], parts: Parts, number: int) -> None:
        self._file, self._parts, self._number = file, parts, number
        self._rows = self._files = 0
        self._failed = False
        self._writer = pq.ParquetWriter(file, CHECKPOINT)
        if number == 0:
            for kind, action in parts.header.items():
                self._append(kind, pa.array([action], CHECKPOINT.field(kind).type))

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        problems = batch.column(PROBLEM).drop_null()
        if len(problems):
            self._failed = True
            yield pa.RecordBatch.from_pylist([{PROBLEM: problems[0].as_py()}], _WRITTEN)
            return
        for kind, fields, more in (
            ("add", _ADDED, {"dataChange": False}),
            ("remove", _REMOVED, {"dataChange": False, "extendedFileMetadata": True}),
        ):
            rows = batch.filter(pc.equal(batch.column("kind"), kind))
            if len(rows):
                self._append(kind, _actions(rows, CHECKPOINT.field(kind).type, fields, more))
                self._files += len(rows) if kind == "add" else 0

    def finish(self) -> Iterator[pa.RecordBatch]:
        self._writer.close()
        if self._failed:
            return
        size = self._file.tell()
        self._file.seek(0)
        directory = self._parts.reader.directory()
        try:
            key = key_of(directory, self._parts.name(self._number))
            obstore.put(directory.store, key, self._file)
        except (BaseError, OSError) as error:
            raise StorageError(
                "the table's storage does not accept the checkpoint", detail=reason_of(error)
            ) from error
        row = {"rows": self._rows, "bytes": size, "files": self._files}
        yield pa.RecordBatch.from_pylist([row], _WRITTEN)

    def _append(self, kind: str, actions: pa.StructArray) -> None:
        columns = [
            actions if field.name == kind else pa.nulls(len(actions), field.type)
            for field in CHECKPOINT
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=CHECKPOINT))
        self._rows += len(actions)


def _actions(
    rows: pa.RecordBatch, type_: pa.StructType, fields: Mapping[str, str], more: Mapping[str, object]
) -> pa.StructArray:
    """Return rows of `ACTIONS` as actions of a checkpoint."""
    partitions = [
        list(orjson.loads(text).items()) for text in rows.column("partition_values").to_pylist()
    ]
    arrays = []
    for field in type_:
        if field.name == "partitionValues":
            arrays.append(pa.array(partitions, field.type))
        elif field.name in more:
            arrays.append(pa.repeat(pa.scalar(more[field.name], field.type), len(rows)))
        elif field.name in fields:
            arrays.append(rows.column(fields[field.name]).cast(field.type))
        else:
            arrays.append(pa.nulls(len(rows), field.type))
    return pa.StructArray.from_arrays(arrays, fields=list(type_))
