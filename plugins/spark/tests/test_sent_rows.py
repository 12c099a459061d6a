from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from sluicegate_spark.cluster import sent_rows


def test_types_are_given_because_spark_connect_does_not_take_them_from_a_table_without_rows() -> None:
    table = pa.table({"path": pa.array([], pa.string()), "size": pa.array([], pa.int64())})
    spark: Any = SimpleNamespace(createDataFrame=lambda _, schema: schema.simpleString())
    found: Any = sent_rows(spark, table)
    assert found == "struct<path:string,size:bigint>"
