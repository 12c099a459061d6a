"""Reads files of a Delta log on executors, and determines the newest action on each file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api import CatalogTable
from sluicegate.formats import LOG_ACTIONS, LogPart, read_log_part
from sluicegate_spark.cluster import sent_rows
from sluicegate_spark.conversion.executor_errors import EXPECTED, failure_of
from sluicegate_spark.objects import ObjectAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARTS = pa.schema(
    [
        ("name", pa.string()),
        ("size", pa.int64()),
        ("version", pa.int64()),
        ("compacted", pa.bool_()),
    ]
)
# `failure` is the text of an error that reading the part `name` raised. The key is then null.
_FILE: Final = ("location", "size", "partition_values", "stats", "has_vector", "removed")
_ACTIONS = pa.schema(
    [
        ("key", pa.string()),
        ("location", pa.string()),
        *(LOG_ACTIONS.field(name) for name in _FILE[1:]),
        ("version", pa.int64()),
        ("line", pa.int64()),
        ("part", pa.string()),
        ("failure", pa.string()),
    ]
)
_SPARK_ACTIONS = (
    "key string, location string, size long, partition_values string, stats string, "
    "has_vector boolean, removed boolean, version long, line long, part string, failure string"
)


def newest_actions(
    spark: SparkSession, location: str, parts: Sequence[LogPart], access: ObjectAccess
) -> DataFrame:
    """Return the newest action on each file that parts of a log name.

    Returns:
        Columns `location`, `size`, `partition_values` (JSON), `stats`, `has_vector` and `removed`;
            `part` and `failure` in the row of an unreadable part.
    """
    from pyspark.sql.functions import expr

    rows = [{name: getattr(part, name) for name in _PARTS.names} for part in parts]
    frame = sent_rows(spark, pa.Table.from_pylist(rows, _PARTS)).repartition(max(1, len(parts)))
    actions = frame.mapInArrow(_Reading(location, access), _SPARK_ACTIONS)
    file = ", ".join((*_FILE, "part", "failure"))
    newest = f"max_by(struct({file}), struct(version, line)) AS newest"
    return actions.groupBy("key").agg(expr(newest)).select("newest.*")


@dataclass(frozen=True, slots=True)
class _Reading:
    """For `mapInArrow`: maps parts of a log to their actions."""

    location: str
    access: ObjectAccess

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from self._read(LogPart(**row))

    def _read(self, part: LogPart) -> Iterator[pa.RecordBatch]:
        table = CatalogTable(self.location, "delta", self.location)
        try:
            for batch in read_log_part(table, self.access.directory(self.location), part):
                yield self._actions(batch, part)
        except EXPECTED as error:
            row = {"part": part.name, "version": part.version, "failure": failure_of(error)}
            yield pa.RecordBatch.from_pylist([row], _ACTIONS)

    def _actions(self, batch: pa.RecordBatch, part: LogPart) -> pa.RecordBatch:
        rows = len(batch)
        columns = {name: batch.column(name) for name in LOG_ACTIONS.names}
        columns["location"] = locations_of(columns["path"], self.location)
        columns["version"] = pa.repeat(pa.scalar(part.version, pa.int64()), rows)
        columns["part"] = columns["failure"] = pa.nulls(rows, pa.string())
        return pa.RecordBatch.from_arrays([columns[field.name] for field in _ACTIONS], schema=_ACTIONS)


def locations_of(paths: pa.StringArray, directory: str) -> pa.StringArray:
    """Return the locations of files: those of relative paths are in the directory of the table."""
    joined = pc.binary_join_element_wise(pa.scalar(directory), paths, "/")
    return pc.if_else(pc.match_substring(paths, "://"), paths, joined)
