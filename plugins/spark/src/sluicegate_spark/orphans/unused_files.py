"""Compares listed files with those that a table's metadata names, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sluicegate_spark.orphans.listed_directory import CandidateFiles
from sluicegate_spark.orphans.used_files import UsedFiles
from sluicegate_spark.purge.sorted_files import PATH
from sluicegate_spark.purge.waves import Listed, Waves

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Names of the same file can have different schemes or hosts, and Hadoop reads `a//b` as `a/b`. A file
# is kept if any name might be its own.
_KEY: Final = "regexp_replace(regexp_replace(path, '^[A-Za-z][^:/]*:/+[^/]*/', ''), '/+', '/') AS key"


@dataclass(frozen=True, slots=True)
class UnusedFiles:
    """Files that no metadata of the table names.

    Attributes:
        rows: Their location (`path`) and `bytes`, stored on the cluster's disks.
        size: Total bytes.
    """

    rows: DataFrame
    count: int
    size: int

    @property
    def listed(self) -> Listed:
        """Return their locations."""
        return Listed([self.rows.select("path")], self.count)

    def examples(self, most: int, spark: SparkSession) -> list[str]:
        """Return some of the locations, in their order."""
        return [str(row["path"]) for row in self.rows.orderBy("path").limit(most).collect()]


async def unused_files(
    waves: Waves, bucket: str, files: CandidateFiles, used: UsedFiles
) -> UnusedFiles:
    """Return the files that are not used."""
    parts = (await waves.cluster()).parts(files.count + used.count)

    def compare(spark: SparkSession) -> UnusedFiles:
        from pyspark.sql.functions import col, concat, lit

        others = pa.table({"path": pa.array(used.others, pa.string())})
        named = _union([spark.createDataFrame(others, PATH), *used.listed.frames])
        keys = named.selectExpr(_KEY).repartition(parts, "key")
        listed = _union(files.frames).repartition(parts, "key")
        location = concat(lit(bucket), col("key")).alias("path")
        rows = waves.keep(listed.join(keys, "key", "left_anti").select(location, "bytes"))
        count, size = rows.selectExpr("count(*)", "coalesce(sum(bytes), 0)").head() or (0, 0)
        return UnusedFiles(rows, int(count), int(size))

    return await waves.session.run(compare)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda some, more: some.union(more), frames)
