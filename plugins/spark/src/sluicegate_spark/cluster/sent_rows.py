"""Sends rows of the worker to a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sent_rows(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return the rows of an Arrow table as a frame.

    The types are always given, because Spark Connect doesn't take them from tables without rows.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    schema: Any = from_arrow_schema(table.schema)
    return spark.createDataFrame(table, schema)
