"""Deletes of Iceberg tables that Spark reads file by file: position delete files, and vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.gateways.iceberg_sharing import SCHEMA, SHARE, IcebergSharing, iceberg_sharing
from support.process.spark import require_spark
from support.tables.iceberg_deletes import (
    as_version_3,
    data_files,
    delete_by_vectors,
    delete_positions,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "spark.sql.catalog.deletes"
ROWS = pa.table({"id": pa.array(range(5), pa.int64())})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSharing]:
    require_spark()
    with (
        pytest.MonkeyPatch.context() as patch,
        iceberg_sharing(tmp_path_factory.mktemp("deletes"), patch) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def shared(spark: SparkSession, lake: IcebergSharing) -> SparkSession:
    """Spark with the share as a catalog, as documented."""
    profile = json.loads(lake.recipient.profile.read_text())
    settings = {
        "type": "rest",
        "uri": profile["icebergEndpoint"],
        "warehouse": SHARE,
        "token": profile["bearerToken"],
        "http-client.type": "urlconnection",  # Iceberg's own choice is in its AWS bundle
    }
    spark.conf.set(CATALOG, "org.apache.iceberg.spark.SparkCatalog")
    for key, value in settings.items():
        spark.conf.set(f"{CATALOG}.{key}", value)
    return spark


@pytest.mark.parametrize("version", [2, 3])
def test_spark_reads_the_rows_that_are_left(
    shared: SparkSession, lake: IcebergSharing, version: int
) -> None:
    name, table = lake.table(ROWS.schema)
    table.append(ROWS)
    table.append(ROWS)
    first, second = data_files(table)
    if version == 3:
        delete_by_vectors(table, {first: [0], second: [1, 2]})
        as_version_3(table)
    else:
        delete_positions(table, {first: [0], second: [1, 2]})
    found = shared.table(f"deletes.{SCHEMA}.{name}").toArrow()["id"].to_pylist()
    assert sorted(found) == [0, 1, 2, 3, 3, 4, 4]
