"""Checks on executors the files that a conversion adds, and reads their footers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sluicegate.formats import check_added_files
from sluicegate_spark.conversion.executor_errors import EXPECTED, failure_of
from sluicegate_spark.conversion.to_iceberg.field_id_checks import (
    check_case,
    check_field_ids,
    fields_without_columns,
)
from sluicegate_spark.conversion.to_iceberg.jobs.parquet_footers import FileFooter, read_footer
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.objects import ObjectAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# `broken` says why a file cannot be read, and `failure` is the text of an error. `dropped` contains
# paths of fields that are no columns of the table.
_CHECKED = pa.schema(
    [
        ("location", pa.string()),
        ("size", pa.int64()),
        ("partition_values", pa.string()),
        ("stats", pa.string()),
        ("rows", pa.int64()),
        ("dropped", pa.list_(pa.string())),
        ("broken", pa.string()),
        ("failure", pa.string()),
    ]
)
_SPARK_CHECKED = (
    "location string, size long, partition_values string, stats string, rows long, "
    "dropped array<string>, broken string, failure string"
)
ADDED = _CHECKED.names[:4]
"""The columns of files to add."""
_FILES_AT_ONCE = 16
_PARTITIONS = 4096


def checked_files(added: DataFrame, entries: EntryFormat, access: ObjectAccess) -> DataFrame:
    """Check files that a conversion adds.

    Returns:
        The same columns, and `rows`, `dropped`, `broken` and `failure`.
    """
    field_ids = entries.columns.field_ids
    return added.mapInArrow(Checks(entries, field_ids, access), _SPARK_CHECKED)


@dataclass(frozen=True)
class Checks:
    """For `mapInArrow`: maps files to checked files.

    Attributes:
        longest: Largest number of bytes of a footer, or `None`. Longer ones raise `TooLargeForWorker`.
    """

    entries: EntryFormat
    field_ids: Mapping[str, int]
    access: ObjectAccess = field(repr=False)
    longest: int | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the files with `rows`, `dropped`, `broken`, and `failure`."""
        check_partition = lru_cache(_PARTITIONS)(self._partition_failure)
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            for batch in batches:
                files = batch.select(ADDED).to_pylist()
                rows = []
                for file, found in zip(files, pool.map(self._checked, files), strict=True):
                    partition = file["partition_values"] or "{}"
                    row = {**file, **found, "partition_values": partition}
                    rows.append({**row, "failure": row.get("failure") or check_partition(partition)})
                yield pa.RecordBatch.from_pylist(rows, _CHECKED)

    def _checked(self, file: Mapping[str, Any]) -> dict[str, Any]:
        try:
            paths = pa.array([file["location"]], pa.string())
            sizes = pa.array([file["size"]], pa.int64())
            check_added_files(paths, sizes, "the Delta log")
            footer = read_footer(self.access, file["location"], file["size"], self.longest)
            if isinstance(footer, str):
                return {"broken": footer}
            return self._described(footer, file["stats"])
        except EXPECTED as error:
            return {"failure": failure_of(error)}

    def _described(self, footer: FileFooter, stats: str | None) -> dict[str, Any]:
        check_field_ids(footer.field_ids, self.field_ids)
        dropped = fields_without_columns(footer.field_ids, self.field_ids)
        check_case(dropped, self.field_ids)
        if footer.int96:
            self.entries.check_int96_timestamps(stats)
        return {"rows": footer.rows, "dropped": sorted(dropped)}

    def _partition_failure(self, text: str) -> str | None:
        try:
            self.entries.partition_values(text)
        except EXPECTED as error:
            return failure_of(error)
        return None
