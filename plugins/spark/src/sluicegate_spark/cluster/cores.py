"""Determines how many Spark tasks a cluster runs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_CORES = 100_000


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is one of a Spark Connect server."""
    return not hasattr(spark, "_jsparkSession")


def cores_of(spark: SparkSession) -> int:
    """Return the number of Spark tasks that run at once: Spark's default parallelism.

    With dynamic allocation, it grows while executors are added.
    """
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # Spark divides a range into as many partitions, and Spark Connect has no other way to find out.
    partitions = spark.range(_MOST_CORES).selectExpr("spark_partition_id() AS number")
    return int(partitions.distinct().count())
