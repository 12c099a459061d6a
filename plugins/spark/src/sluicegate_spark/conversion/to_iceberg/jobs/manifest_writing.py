"""Writes manifests on executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sluicegate_spark.conversion.executor_errors import EXPECTED, failure_of
from sluicegate_spark.conversion.to_iceberg.jobs.known_files import read_object
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import ENTRIES, Row, SnapshotWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SUMMARY = pa.struct(
    [
        ("contains_null", pa.bool_()),
        ("contains_nan", pa.bool_()),
        ("lower_bound", pa.binary()),
        ("upper_bound", pa.binary()),
    ]
)
_KINDS = ("added", "existing", "deleted")
_LONGS = (
    *("manifest_length", "sequence_number", "min_sequence_number", "added_snapshot_id"),
    *(f"{kind}_rows_count" for kind in _KINDS),
)
_INTS = ("partition_spec_id", "content", *(f"{kind}_files_count" for kind in _KINDS))
# Rows of a manifest list, or the text of an error.
_WRITTEN = pa.schema(
    [
        ("manifest_path", pa.string()),
        *((name, pa.int64()) for name in _LONGS),
        *((name, pa.int32()) for name in _INTS),
        ("partitions", pa.list_(_SUMMARY)),
        ("failure", pa.string()),
    ]
)
_SPARK_WRITTEN = ", ".join(
    (
        "manifest_path string",
        *(f"{name} long" for name in _LONGS),
        *(f"{name} int" for name in _INTS),
        "partitions array<struct<contains_null: boolean, contains_nan: boolean, "
        "lower_bound: binary, upper_bound: binary>>",
        "failure string",
    )
)
_PARTITIONS = 4096
_MOST_TASKS = 10_000


def written_manifests(
    files: DataFrame, count: int, entries: EntryFormat, writer: SnapshotWriter
) -> DataFrame:
    """Write manifests that add files, sorted by partition so that readers can skip manifests.

    Returns:
        Rows of the manifest list, and `failure`.
    """
    order = ("partition_values", "location")
    manifests = max(1, -(-count // ENTRIES))
    ranges = files.coalesce(1) if manifests == 1 else files.repartitionByRange(manifests, *order)
    sorted_files = ranges.sortWithinPartitions(*order)
    return sorted_files.mapInArrow(Adding(entries, writer), _SPARK_WRITTEN)


def rewritten_manifests(
    removed: DataFrame, rows: Mapping[int, Row], writer: SnapshotWriter
) -> DataFrame:
    """Write manifests again, without some files.

    Returns:
        Rows of the manifest list, and `failure`.
    """
    rewriting = Rewriting(dict(rows), writer)
    # A Spark task for each manifest, as far as their hashes allow.
    by_manifest = removed.repartition(min(len(rows), _MOST_TASKS), "manifest").groupBy("manifest")
    # PySpark looks at the parameters of the function.
    return by_manifest.applyInArrow(lambda table: rewriting(table), _SPARK_WRITTEN)


@dataclass(frozen=True, slots=True)
class Adding:
    """For `mapInArrow`: maps files to rows of the manifest list."""

    entries: EntryFormat
    writer: SnapshotWriter

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        yield _outcome(self.writer.write(self._entries(batches)))

    def _entries(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        partition_of = lru_cache(_PARTITIONS)(self.entries.partition_values)
        for batch in batches:
            for row in batch.to_pylist():
                yield self.entries.entry(
                    row["location"],
                    row["size"],
                    row["rows"],
                    row["stats"],
                    partition_of(row["partition_values"]),
                )


@dataclass(frozen=True, slots=True)
class Rewriting:
    """For `applyInArrow`: maps the removed files of a manifest to rows of the manifest list."""

    rows: Mapping[int, Row]
    writer: SnapshotWriter

    def __call__(self, removed: pa.Table) -> pa.Table:
        """Return the rows."""
        number: int = removed.column("manifest")[0].as_py()
        return pa.Table.from_batches([_outcome(self._written(number, removed))])

    def _written(self, number: int, removed: pa.Table) -> Iterator[dict[str, Any]]:
        row, gone = self.rows[number], frozenset(removed.column("location").to_pylist())
        data = read_object(self.writer.access, row["manifest_path"])
        yield from self.writer.rewrite(row, data, gone)


def _outcome(rows: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
    written: Sequence[Mapping[str, Any]]
    try:
        written = list(rows)
    except EXPECTED as error:
        written = [{"failure": failure_of(error)}]
    return pa.RecordBatch.from_pylist(list(written), _WRITTEN)
