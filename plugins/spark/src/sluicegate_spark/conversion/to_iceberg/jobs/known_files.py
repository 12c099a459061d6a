"""Lists on executors the files that manifests of the converted table contain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import obstore
import pyarrow as pa
from obstore.exceptions import BaseError

from sluicegate.api import StorageError, TableUnreadable, without_queries
from sluicegate_iceberg.format.objects import literal_location
from sluicegate_spark.cluster import sent_rows
from sluicegate_spark.conversion.executor_errors import EXPECTED, failure_of
from sluicegate_spark.conversion.to_iceberg.manifests import DELETED, records
from sluicegate_spark.objects import ObjectAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KNOWN = pa.schema([("manifest", pa.int32()), ("location", pa.string()), ("failure", pa.string())])
_SPARK_KNOWN = "manifest int, location string, failure string"
_MANIFESTS = pa.schema([("manifest", pa.int32()), ("path", pa.string())])
_BATCH = 10_000
# Only these fields are decoded; the others, mainly statistics, are skipped.
_PATHS: Mapping[str, Any] = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int"},
        {
            "name": "data_file",
            "type": {
                "type": "record",
                "name": "r2",
                "fields": [{"name": "file_path", "type": "string"}],
            },
        },
    ],
}


def known_files(spark: SparkSession, manifests: Mapping[int, str], access: ObjectAccess) -> DataFrame:
    """Return the live files of manifests.

    Returns:
        Columns `manifest` (its number), `location`, and `failure` in the row of an unreadable manifest.
    """
    columns = [list(manifests), list(manifests.values())]
    frame = sent_rows(spark, pa.table(columns, schema=_MANIFESTS))
    return frame.repartition(max(1, len(manifests))).mapInArrow(_Listing(access), _SPARK_KNOWN)


@dataclass(frozen=True, slots=True)
class _Listing:
    """For `mapInArrow`: maps manifests to their live files."""

    access: ObjectAccess

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from self._files(row["manifest"], row["path"])

    def _files(self, manifest: int, path: str) -> Iterator[pa.RecordBatch]:
        try:
            rows = records(read_object(self.access, path), _PATHS)
            files = [each["data_file"]["file_path"] for each in rows if each["status"] != DELETED]
        except EXPECTED as error:
            row = {"manifest": manifest, "failure": failure_of(error)}
            yield pa.RecordBatch.from_pylist([row], _KNOWN)
            return
        for start in range(0, len(files), _BATCH):
            some = files[start : start + _BATCH]
            columns = [
                pa.repeat(pa.scalar(manifest, pa.int32()), len(some)),
                pa.array(some, pa.string()),
                pa.nulls(len(some), pa.string()),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=_KNOWN)


def read_object(access: ObjectAccess, location: str) -> bytes:
    """Read a metadata file of the Iceberg table, without an event loop."""
    store, key = access.open(literal_location(location))
    try:
        return bytes(obstore.get(store, key).bytes())
    except FileNotFoundError:
        raise TableUnreadable("a metadata file of the Iceberg table is missing", detail=key) from None
    except (BaseError, OSError) as error:
        raise StorageError(
            "the table's storage does not respond, or denies access; try again later",
            detail=without_queries(f"{key}: {type(error).__name__}: {error}"),
        ) from None
