"""Reads the files in a Delta log on Spark's executors.

Large commits and checkpoints are read in slices: ranges of bytes, and some of the row groups.
Source: Delta protocol, "Actions", "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import obstore
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from obstore.exceptions import BaseError

from sluicegate.api import ObjectDirectory, StorageError, TableUnreadable
from sluicegate.formats import DELETION_VECTOR
from sluicegate_spark.cluster import sent_rows
from sluicegate_spark.conversion.to_delta.distributed.log_files import LogFile, key_of, open_parquet
from sluicegate_spark.conversion.to_delta.distributed.manifest_rows import ROWS
from sluicegate_spark.conversion.to_delta.distributed.problems import PROBLEM, caught
from sluicegate_spark.failures import reason_of
from sluicegate_spark.granted_files import ungranted_locations
from sluicegate_spark.objects import ObjectAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ACTIONS: Final = pa.schema(
    [
        ("kind", pa.string()),  # `add` or `remove`
        ("uri", pa.string()),  # the path as in the log
        ("path", pa.string()),  # the literal path
        ("vector", pa.string()),  # identifies the deleted rows; empty if there are none
        ("partition_values", pa.string()),  # JSON
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("stats", pa.string()),
        ("deletion_vector", DELETION_VECTOR),
        ("deletion_timestamp", pa.int64()),
        ("version", pa.int64()),  # -1 in a checkpoint
        ("position", pa.int64()),  # in its commit
        ("ungranted", pa.string()),  # a location that the task can't access
        (PROBLEM, pa.string()),
    ]
)
SPARK_VECTOR: Final = (
    "struct<storageType: string, pathOrInlineDv: string, offset: int, sizeInBytes: int, "
    "cardinality: long, maxRowIndex: long>"
)
_SPARK_ACTIONS = (
    "kind string, uri string, path string, vector string, partition_values string, size long, "
    f"modification_time long, stats string, deletion_vector {SPARK_VECTOR}, "
    "deletion_timestamp long, version long, position long, ungranted string, problem string"
)
_SLICES = pa.schema(
    [
        ("name", pa.string()),
        ("version", pa.int64()),
        ("size", pa.int64()),
        ("number", pa.int32()),
        ("slices", pa.int32()),
    ]
)
_SLICE = 32 << 20  # bytes
_READ = 1 << 20  # bytes, to find the end of the last line of a slice
_LONGEST = 128 << 20  # bytes of a slice and the rest of its last line
_KINDS = ("add", "remove")
_NEWEST = "row_number() OVER (PARTITION BY path, vector ORDER BY version DESC, position DESC) AS age"
_FIELDS = {  # of an action, by column
    "uri": "path",
    "size": "size",
    "modification_time": "modificationTime",
    "stats": "stats",
    "deletion_vector": "deletionVector",
    "deletion_timestamp": "deletionTimestamp",
}


@dataclass(frozen=True, slots=True)
class LogReader:
    """Reads a log on executors."""

    access: ObjectAccess
    location: str
    stats: bool

    def actions(self, spark: SparkSession, files: Sequence[LogFile]) -> DataFrame:
        """Return the actions in a checkpoint and in commits that concern files."""
        slices = [
            (file.name, file.version, file.size, number, slices)
            for file in files
            for slices in [max(1, -(-file.size // _SLICE))]
            for number in range(slices)
        ]
        columns = list(zip(*slices, strict=True)) or [()] * len(_SLICES)
        rows = sent_rows(spark, pa.table(list(map(list, columns)), schema=_SLICES))
        tasks = rows.repartition(max(1, len(slices)))
        return tasks.mapInArrow(partial(_actions, self), _SPARK_ACTIONS)

    def directory(self) -> ObjectDirectory:
        """Open the table's directory."""
        return self.access.directory(self.location)


def newest(actions: DataFrame) -> DataFrame:
    """Return the newest action for each file and its deleted rows."""
    return actions.selectExpr("*", _NEWEST).where("age = 1").drop("age")


def _actions(reader: LogReader, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            file = LogFile(row["name"], row["version"], row["size"])
            yield from caught(_slice(reader, file, row["number"], row["slices"]), ACTIONS)


def _slice(reader: LogReader, file: LogFile, number: int, slices: int) -> Iterator[pa.RecordBatch]:
    read = _of_checkpoint if file.is_checkpoint else _of_commit
    try:
        yield from read(reader, file, number, slices)
    except FileNotFoundError:
        raise TableUnreadable(f"the Delta log's {file.name} is missing") from None
    except (BaseError, OSError) as error:
        raise StorageError(
            "the table's storage does not respond, or denies access; try again later",
            detail=reason_of(error),
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise TableUnreadable(
            f"the Delta log's {file.name} is damaged", detail=reason_of(error)
        ) from error


def _of_commit(reader: LogReader, file: LogFile, number: int, slices: int) -> Iterator[pa.RecordBatch]:
    start, end = (file.size * each // slices for each in (number, number + 1))
    remaining = _lines(reader.directory(), file, start, end)
    while lines := list(islice(remaining, ROWS)):
        yield _batch(
            [
                _row(kind, action, file.version, position)
                for position, line in lines
                for kind, action in orjson.loads(line).items()
                if kind in _KINDS
            ],
            reader,
        )


def _lines(
    directory: ObjectDirectory, file: LogFile, start: int, end: int
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that begin in a range of bytes, with their positions."""
    key = key_of(directory, file.name)
    # If the byte before the range ends a line, the first line of the range is complete.
    first = max(0, start - 1)
    if end <= first:
        return
    content = bytearray(obstore.get_range(directory.store, key, start=first, end=end))
    while end < file.size and not content.endswith(b"\n"):
        more = bytes(
            obstore.get_range(directory.store, key, start=end, end=min(file.size, end + _READ))
        )
        rest, newline, _ = more.partition(b"\n")
        content += rest + newline
        end += len(rest) + len(newline)
        if end - first > _LONGEST:
            raise ValueError("a line is too long")
    position = first if start == 0 else first + content.find(b"\n") + 1
    if start and position == first:
        return  # the range is within one line
    for line in bytes(memoryview(content)[position - first :]).split(b"\n"):
        if line:
            yield position, line
        position += len(line) + 1


def _row(kind: str, action: Mapping[str, Any], version: int, position: int) -> dict[str, Any]:
    row = {column: action.get(name) for column, name in _FIELDS.items()}
    partition = orjson.dumps(action.get("partitionValues") or {}).decode()
    return {
        **row,
        "kind": kind,
        "partition_values": partition,
        "version": version,
        "position": position,
    }


def _of_checkpoint(
    reader: LogReader, file: LogFile, number: int, slices: int
) -> Iterator[pa.RecordBatch]:
    parquet = open_parquet(reader.directory(), file)
    groups = list(range(number, parquet.num_row_groups, slices))
    known = parquet.schema_arrow
    wanted = {"partitionValues", *_FIELDS.values()} - (set() if reader.stats else {"stats"})
    columns = [
        f"{kind}.{field.name}"
        for kind in _KINDS
        if kind in known.names
        for field in known.field(kind).type
        if field.name in wanted
    ]
    for batch in parquet.iter_batches(ROWS, row_groups=groups, columns=columns):
        for kind, actions in zip(batch.schema.names, batch.columns, strict=True):
            if len(found := actions.drop_null()):
                yield _finished(_columns(kind, found), reader)


def _columns(kind: str, actions: pa.StructArray) -> dict[str, pa.Array]:
    length = len(actions)
    fields = dict(zip(actions.type.names, actions.flatten(), strict=True))
    columns = {
        column: fields[name].cast(ACTIONS.field(column).type)
        for column, name in _FIELDS.items()
        if name in fields
    }
    partitions = fields["partitionValues"].to_pylist()
    texts = [orjson.dumps(dict(each or ())).decode() for each in partitions]
    minus = pa.repeat(pa.scalar(-1, pa.int64()), length)
    return {
        **columns,
        "kind": pa.repeat(kind, length),
        "partition_values": pa.array(texts, pa.string()),
        "version": minus,
        "position": minus,
    }


def _batch(rows: Sequence[Mapping[str, Any]], reader: LogReader) -> pa.RecordBatch:
    columns = {
        field.name: pa.array([row.get(field.name) for row in rows], field.type) for field in ACTIONS
    }
    return _finished(columns, reader)


def _finished(columns: Mapping[str, pa.Array], reader: LogReader) -> pa.RecordBatch:
    uris = columns["uri"]
    length = len(uris)
    nothing = {field.name: pa.nulls(length, field.type) for field in ACTIONS}
    vectors = columns.get("deletion_vector", nothing["deletion_vector"])
    complete = {
        **nothing,
        **columns,
        "path": pa.array(
            [unquote(uri) if "%" in uri else uri for uri in uris.to_pylist()], pa.string()
        ),
        "vector": pc.struct_field(vectors, "pathOrInlineDv").fill_null(""),
    }
    if reader.access.granted.is_limited:
        complete["ungranted"] = ungranted_locations(
            reader.access.granted, complete["path"], vectors, reader.location
        )
    if not reader.stats:
        complete["stats"] = nothing["stats"]
    return pa.RecordBatch.from_arrays([complete[name] for name in ACTIONS.names], schema=ACTIONS)
