"""Reads manifests on Spark's executors: their schemas, and their live data files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import pyarrow as pa

from sluicegate.api import CatalogTable, TableUnreadable
from sluicegate.formats import FILE_SCHEMA
from sluicegate_iceberg.format.broken import in_file
from sluicegate_iceberg.format.manifests.bounds import metrics_of
from sluicegate_iceberg.format.manifests.data_files import data_files
from sluicegate_iceberg.format.manifests.manifest_files import Manifest, entries_of, schema_of
from sluicegate_iceberg.format.metadata.shape import Shape
from sluicegate_iceberg.format.objects import TableObjects
from sluicegate_spark.cluster import sent_rows
from sluicegate_spark.conversion.to_delta.distributed.problems import PROBLEM, caught
from sluicegate_spark.objects import ObjectAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS: Final = 8192
"""Rows of a batch. Statistics are up to some kilobytes each."""

_MANIFESTS = pa.schema(
    [
        ("path", pa.string()),
        ("content", pa.int32()),
        ("sequence_number", pa.int64()),
        ("snapshot_id", pa.int64()),
    ]
)
_SCHEMAS = pa.schema([("text", pa.string()), ("manifest", pa.string()), (PROBLEM, pa.string())])
_FILES = pa.schema(
    [
        ("location", pa.string()),
        ("path", pa.string()),
        ("sequence_number", pa.int64()),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("stats", pa.string()),
        (PROBLEM, pa.string()),
    ]
)
_SPARK_SCHEMAS = "text string, manifest string, problem string"
_SPARK_FILES = (
    "location string, path string, sequence_number long, size long, modification_time long, "
    "stats string, problem string"
)
_MOST_TASKS = 10_000
_HEAD = 65_536  # bytes; most schemas fit
_Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The Iceberg table, for executors."""

    table: CatalogTable
    access: ObjectAccess

    def objects(self) -> TableObjects:
        """Open the table's objects."""
        return TableObjects(self.table, self.access.directory(self.table.location))

    def frame(
        self,
        spark: SparkSession,
        manifests: Sequence[Manifest],
        work: Callable[..., Iterable[pa.RecordBatch]],
        schema: str,
    ) -> DataFrame:
        """Return the rows that a function reads from manifests."""
        columns = [[getattr(each, name) for each in manifests] for name in _MANIFESTS.names]
        rows = sent_rows(spark, pa.table(columns, schema=_MANIFESTS))
        tasks = min(max(1, len(manifests)), _MOST_TASKS)
        return rows.repartition(tasks).mapInArrow(partial(work, self), schema)


@dataclass(frozen=True, slots=True)
class Reading:
    """How data files are described.

    Attributes:
        required: Columns that each file must contain.
        timestamps: Commit times of snapshots (epoch milliseconds), by id.
    """

    shape: Shape
    required: Mapping[int, str]
    timestamps: Mapping[int, int]


def schemas(spark: SparkSession, source: SourceTable, manifests: Sequence[Manifest]) -> DataFrame:
    """Return the distinct schemas that manifests were written with, each with one of the manifests."""
    rows = source.frame(spark, manifests, _schemas, _SPARK_SCHEMAS)
    distinct = rows.groupBy("text", PROBLEM).agg({"manifest": "min"})
    return distinct.withColumnRenamed("min(manifest)", "manifest")


def live_files(
    spark: SparkSession, source: SourceTable, manifests: Sequence[Manifest], reading: Reading
) -> DataFrame:
    """Return the live data files in manifests, without deleted rows."""
    return source.frame(spark, manifests, partial(_live_files, reading), _SPARK_FILES)


def former_files(spark: SparkSession, source: SourceTable, manifests: Sequence[Manifest]) -> DataFrame:
    """Return the live data files in manifests, without sizes and statistics."""
    return source.frame(spark, manifests, _former_files, _SPARK_FILES)


def manifests_in(batches: _Batches) -> Iterator[Manifest]:
    """Yield the manifests of a frame."""
    for batch in batches:
        for row in batch.to_pylist():
            yield Manifest(**row)


def _schemas(source: SourceTable, batches: _Batches) -> Iterator[pa.RecordBatch]:
    for manifest in manifests_in(batches):
        yield from caught(_schema(source, manifest), _SCHEMAS)


def _schema(source: SourceTable, manifest: Manifest) -> Iterator[pa.RecordBatch]:
    objects = source.objects()
    head = anyio.run(objects.read_start, manifest.path, _HEAD)
    try:
        text = schema_of(manifest, head, objects.budget)
    except TableUnreadable:  # the header is longer, or broken, which fails again
        content = anyio.run(objects.read, manifest.path)
        text = schema_of(manifest, content, objects.budget)
    yield pa.RecordBatch.from_pylist([{"text": text, "manifest": manifest.called}], _SCHEMAS)


def _live_files(reading: Reading, source: SourceTable, batches: _Batches) -> Iterator[pa.RecordBatch]:
    for manifest in manifests_in(batches):
        yield from caught(_files_of(reading, source, manifest), _FILES)


def _files_of(reading: Reading, source: SourceTable, manifest: Manifest) -> Iterator[pa.RecordBatch]:
    objects, shape = source.objects(), reading.shape
    content = anyio.run(objects.read, manifest.path)
    with in_file(manifest.called):
        files = data_files(
            entries_of(manifest, content, objects.budget),
            objects,
            metrics_of(shape.columns, shape.physical),
            reading.timestamps,
            reading.required,
        )
    rows = dict(zip(FILE_SCHEMA.names, files.chunk.unpack().columns, strict=True))
    rows |= {"location": files.locations, "sequence_number": files.sequence_numbers}
    yield from _batches(rows, len(files))


def _former_files(source: SourceTable, batches: _Batches) -> Iterator[pa.RecordBatch]:
    for manifest in manifests_in(batches):
        yield from caught(_former(source, manifest), _FILES)


def _former(source: SourceTable, manifest: Manifest) -> Iterator[pa.RecordBatch]:
    objects = source.objects()
    content = anyio.run(objects.read, manifest.path)
    with in_file(manifest.called):
        found = [
            (entry.file["file_path"], entry.sequence_number)
            for entry in entries_of(manifest, content, objects.budget)
        ]
    locations = [location for location, _ in found]
    numbers = pa.array([number for _, number in found], pa.int64())
    rows = {
        "location": pa.array(locations, pa.string()),
        "path": objects.paths(locations),
        "sequence_number": numbers,
    }
    yield from _batches(rows, len(found))


def _batches(columns: Mapping[str, pa.Array], length: int) -> Iterator[pa.RecordBatch]:
    arrays = [columns.get(field.name, pa.nulls(length, field.type)) for field in _FILES]
    whole = pa.RecordBatch.from_arrays(arrays, schema=_FILES)
    for start in range(0, length, ROWS):
        yield whole.slice(start, ROWS)
