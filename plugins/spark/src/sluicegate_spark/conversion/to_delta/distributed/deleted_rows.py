"""Reads delete files on Spark's executors, and adds deletion vectors to data files.

Source: Iceberg specification, "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from sluicegate.formats import DELETION_VECTOR
from sluicegate_iceberg.format.deletes.delete_files import DeleteFile, delete_files, parse_deletes
from sluicegate_iceberg.format.deletes.positions import row_set
from sluicegate_iceberg.format.deletes.recipes import (
    PositionDeletes,
    Recipe,
    StoredVector,
    recipe_text,
)
from sluicegate_iceberg.format.deletes.vectors import (
    cardinality_of,
    descriptor,
    payload_of,
    vector_file,
)
from sluicegate_iceberg.format.manifests.manifest_files import Manifest
from sluicegate_spark.conversion.to_delta.deletion_vectors import (
    log_descriptors,
    write_deletion_vectors,
)
from sluicegate_spark.conversion.to_delta.distributed.encoding import file_set
from sluicegate_spark.conversion.to_delta.distributed.log_rows import SPARK_VECTOR
from sluicegate_spark.conversion.to_delta.distributed.manifest_rows import (
    ROWS,
    SourceTable,
    manifests_in,
)
from sluicegate_spark.conversion.to_delta.distributed.problems import PROBLEM, caught
from sluicegate_spark.granted_files import check_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DELETE_FILES = pa.schema(
    [
        ("location", pa.string()),
        ("sequence_number", pa.int64()),
        ("vector_of", pa.string()),
        ("start", pa.int64()),
        ("length", pa.int64()),
        (PROBLEM, pa.string()),
    ]
)
_SPARK_DELETE_FILES = (
    "location string, sequence_number long, vector_of string, start long, length long, problem string"
)
_DELETED = pa.schema(
    [
        ("data_file", pa.string()),
        ("sequence_number", pa.int64()),
        ("rows", pa.binary()),  # of a vector: its payload; otherwise, a serialized bitmap
        ("vector_file", pa.string()),  # of a vector: the location of its file
        ("start", pa.int64()),
        ("length", pa.int64()),
        (PROBLEM, pa.string()),
    ]
)
_SPARK_DELETED = (
    "data_file string, sequence_number long, rows binary, vector_file string, start long, "
    "length long, problem string"
)
DESCRIBED: Final = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("stats", pa.string()),
        ("deletion_vector", DELETION_VECTOR),
        ("vector", pa.string()),
        (PROBLEM, pa.string()),
    ]
)
_SPARK_DESCRIBED = (
    "path string, size long, modification_time long, stats string, "
    f"deletion_vector {SPARK_VECTOR}, vector string, problem string"
)
_DELETES = "collect_list(struct(sequence_number, rows, vector_file, start, length)) AS deletes"
_Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Deletes:
    """The delete manifests of a snapshot."""

    manifest_list: str
    manifests: Sequence[Manifest]


def delete_file_rows(
    spark: SparkSession, source: SourceTable, deletes: Deletes, oldest: int | None
) -> DataFrame:
    """Return the delete files that may apply to data files."""
    work = partial(_delete_files, oldest)
    return source.frame(spark, deletes.manifests, work, _SPARK_DELETE_FILES)


def deleted_rows(source: SourceTable, files: DataFrame, tasks: int) -> DataFrame:
    """Return the contents of delete files, by data file."""
    return files.repartition(tasks).mapInArrow(partial(_deleted, source), _SPARK_DELETED)


def without_deletes(source: SourceTable, files: DataFrame) -> DataFrame:
    """Return data files as they are described in the log, if no rows are deleted."""
    return files.mapInArrow(partial(_described, source, None), _SPARK_DESCRIBED)


def with_deletes(
    source: SourceTable, files: DataFrame, deleted: DataFrame, manifest_list: str
) -> DataFrame:
    """Return data files as they are described in the log, and write their large deletion vectors."""
    grouped = deleted.groupBy("data_file").agg(_expression(_DELETES))
    joined = files.join(grouped, files["location"] == grouped["data_file"], "left").drop("data_file")
    return joined.mapInArrow(partial(_described, source, manifest_list), _SPARK_DESCRIBED)


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


def _delete_files(
    oldest: int | None, source: SourceTable, batches: _Batches
) -> Iterator[pa.RecordBatch]:
    for manifest in manifests_in(batches):
        yield from caught(_delete_files_in(source, manifest, oldest), _DELETE_FILES)


def _delete_files_in(
    source: SourceTable, manifest: Manifest, oldest: int | None
) -> Iterator[pa.RecordBatch]:
    objects = source.objects()
    content = anyio.run(objects.read, manifest.path)
    rows = [
        {
            "location": each.location,
            "sequence_number": each.sequence_number,
            "vector_of": each.vector_of,
            "start": each.part[0] if each.part else None,
            "length": each.part[1] if each.part else None,
        }
        for each in delete_files(manifest, content, objects.budget, oldest)
        if oldest is not None and each.sequence_number >= oldest
    ]
    yield pa.RecordBatch.from_pylist(rows, _DELETE_FILES)


def _deleted(source: SourceTable, batches: _Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            part = None if row["start"] is None else (row["start"], row["length"])
            file = DeleteFile(row["location"], row["sequence_number"], row["vector_of"], part)
            yield from caught(_deleted_by(source, file), _DELETED)


def _deleted_by(source: SourceTable, file: DeleteFile) -> Iterator[pa.RecordBatch]:
    objects = source.objects()
    content = anyio.run(objects.read, file.location, file.part)
    found = parse_deletes(file, content, objects.budget)
    common = {"sequence_number": file.sequence_number}
    if file.part is not None:
        start, length = file.part
        vector = {"vector_file": file.location, "start": start, "length": length}
        row = {"data_file": file.vector_of, "rows": found.payload, **vector, **common}
        yield pa.RecordBatch.from_pylist([row], _DELETED)
    elif found.rows is not None:
        for batch in found.rows.to_batches(max_chunksize=ROWS):
            paths, positions = batch.column("file_path"), batch.column("pos_list")
            rows = [
                {"data_file": path.as_py(), "rows": row_set(each.values).serialize(), **common}
                for path, each in zip(paths, positions, strict=True)
            ]
            yield pa.RecordBatch.from_pylist(rows, _DELETED)


def _described(
    source: SourceTable, manifest_list: str | None, batches: _Batches
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from caught(_with_vectors(source, manifest_list, batch), DESCRIBED)


def _with_vectors(
    source: SourceTable, manifest_list: str | None, batch: pa.RecordBatch
) -> Iterator[pa.RecordBatch]:
    vectors = _vectors(source, manifest_list, batch)
    keys = pc.struct_field(vectors, "pathOrInlineDv").fill_null("")
    columns = [batch.column(name) for name in ("path", "size", "modification_time", "stats")]
    nothing = pa.nulls(len(batch), pa.string())
    rows = pa.RecordBatch.from_arrays([*columns, vectors, keys, nothing], schema=DESCRIBED)
    granted = source.access.granted
    if granted.is_limited:
        check_files(granted, file_set(rows), source.table.location)
    yield rows


def _vectors(source: SourceTable, manifest_list: str | None, batch: pa.RecordBatch) -> pa.StructArray:
    """Return deletion vectors as in the log. Large ones are written to files."""
    if manifest_list is None:
        return pa.nulls(len(batch), DELETION_VECTOR)
    payloads: dict[str, bytes] = {}
    columns = (batch.column(name).to_pylist() for name in ("location", "sequence_number", "deletes"))
    found = [
        _vector(manifest_list, location, number, deletes, payloads) if deletes else None
        for location, number, deletes in zip(*columns, strict=True)
    ]

    async def make(recipe: str) -> bytes:
        return vector_file(payloads[recipe])

    vectors = pa.array(found, DELETION_VECTOR)
    directory = source.access.directory(source.table.location)
    anyio.run(write_deletion_vectors, pa.chunked_array([vectors]), make, directory)
    return log_descriptors(vectors)


def _vector(
    manifest_list: str,
    location: str,
    sequence_number: int,
    deletes: Sequence[Mapping[str, Any]],
    payloads: dict[str, bytes],
) -> dict[str, Any] | None:
    """Return a file's vector. If Iceberg stores one, it includes the rows of position delete files."""
    applying = [each for each in deletes if each["sequence_number"] >= sequence_number]
    stored = [each for each in applying if each["vector_file"] is not None]
    if stored:
        one = max(stored, key=lambda each: (each["sequence_number"], each["vector_file"]))
        recipe: Recipe = StoredVector(one["vector_file"], one["start"], one["length"])
        payload, rows = one["rows"], cardinality_of(one["rows"])
    else:
        deleted = BitMap64()
        for each in applying:
            deleted |= BitMap64.deserialize(each["rows"])
        if not deleted:
            return None
        recipe = PositionDeletes(manifest_list, location, sequence_number)
        payload, rows = payload_of(deleted), len(deleted)
    payloads[recipe_text(recipe)] = payload
    return descriptor(payload, rows, recipe)
