"""Keeps sorted lists of files on the cluster's disks, and processes some parts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sluicegate_spark.cluster import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterable[pa.RecordBatch]
PATH = "path string"


@dataclass(frozen=True, slots=True)
class SortedFiles:
    """Distinct locations, stored on the cluster's disks.

    Attributes:
        rows: `path` and the number of its `part`. Each part is a partition, and sorted.
    """

    rows: DataFrame
    files: int
    parts: int

    def __len__(self) -> int:
        """Return the number of files."""
        return self.files

    def process(
        self, numbers: Sequence[int], work: Callable[[Batches], Iterator[pa.RecordBatch]], schema: str
    ) -> list[Any]:
        """Process some parts on Spark, and return all rows of the outcome.

        Spark starts no tasks for other parts, except with Spark Connect, which can't select partitions.
        """
        if is_connect(self.rows.sparkSession):
            return list(self._filtered(numbers).mapInArrow(work, schema).collect())
        return _selected(self.rows.mapInArrow(work, schema), numbers)

    def _filtered(self, numbers: Sequence[int]) -> DataFrame:
        from pyspark.sql.functions import col

        return self.rows.where(col("part").isin(list(numbers)))


def _selected(rows: DataFrame, numbers: Sequence[int]) -> list[Any]:
    """Return the rows of some partitions.

    `SparkContext.runJob` does the same with one more Python process for each task, which only returns
    what it gets.
    """
    from pyspark.util import _load_from_socket

    spark: Any = rows.sparkSession
    context, rdd = spark.sparkContext, rows.rdd
    # Jobs outside of SQL have no tag yet by which the session can interrupt them.
    tag = spark._jsparkSession.sessionJobTag()
    context.addJobTag(tag)
    try:
        served = context._jvm.PythonRDD.runJob(context._jsc.sc(), rdd._jrdd, numbers)
        return list(_load_from_socket(served, rdd._jrdd_deserializer))
    finally:
        context.removeJobTag(tag)


def paths_in(batches: Batches) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow`: returns only the locations."""
    for batch in batches:
        yield batch.select(["path"])
