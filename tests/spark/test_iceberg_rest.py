"""Spark with Iceberg reads through the gateway for longer than its credentials are valid."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pytest
from support.gateways.iceberg_lake import SCHEMA, SHARE, IcebergLake, iceberg_lake
from support.process.spark import require_spark

from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow

SESSION_SECONDS = 8
# A task a file, two at a time: twelve seconds of sleep.
IDS = list(range(30))
SECONDS_A_FILE = 0.8
ROWS = pa.table({"id": pa.array(IDS, pa.int64())})
ONE_TASK_A_FILE = {"read.split.open-file-cost": "134217728"}
HTTP_CLIENT = {"http-client.type": "urlconnection"}  # Iceberg's own choice is in its AWS bundle
CATALOG = "org.apache.iceberg.spark.SparkCatalog"


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergLake]:
    require_spark()
    folder = tmp_path_factory.mktemp("iceberg")
    with (
        SeaweedFS.start(folder / "seaweedfs", session_seconds=SESSION_SECONDS) as server,
        iceberg_lake(
            folder / "lake",
            server,
            {"orders": ROWS},
            partition_by="id",
            properties=ONE_TASK_A_FILE,
        ) as running,
    ):
        yield running


def catalog(spark: SparkSession, lake: IcebergLake, **settings: str) -> str:
    """Return the name of a separate catalog that is configured as documented."""
    name = f"share_{uuid4().hex}"
    told = {"type": "rest", "uri": lake.uri, "warehouse": SHARE, **HTTP_CLIENT, **settings}
    spark.conf.set(f"spark.sql.catalog.{name}", CATALOG)
    for key, value in told.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    return name


def orders(spark: SparkSession, lake: IcebergLake, **settings: str) -> DataFrame:
    """Return the table, in a separate catalog."""
    return spark.table(f"{catalog(spark, lake, **settings)}.{SCHEMA}.orders")


def read_slowly(table: DataFrame) -> list[int]:
    """Read the ids of all rows. Each file takes some time."""

    def ids(rows: Iterator[Any]) -> Iterator[int]:
        time.sleep(SECONDS_A_FILE)
        return (row["id"] for row in rows)

    return sorted(table.rdd.mapPartitions(ids).collect())


def with_token(lake: IcebergLake) -> dict[str, str]:
    return {"token": lake.profile()["bearerToken"]}


def test_a_scan_that_outlives_its_credentials_goes_on_with_new_ones(
    spark: SparkSession, iceberg: IcebergLake
) -> None:
    began = time.monotonic()
    assert read_slowly(orders(spark, iceberg, **with_token(iceberg))) == IDS
    assert time.monotonic() - began > SESSION_SECONDS
    assert "/namespaces/sales/tables/orders/credentials 200" in iceberg.gateway.log


def test_without_the_gateways_endpoint_such_a_scan_fails(
    spark: SparkSession, iceberg: IcebergLake
) -> None:
    control = {"client.refresh-credentials-enabled": "false"}
    table = orders(spark, iceberg, **with_token(iceberg), **control)
    with pytest.raises(Exception, match="Status Code: 403"):
        read_slowly(table)


def test_a_client_proves_itself_by_its_secret(spark: SparkSession, iceberg: IcebergLake) -> None:
    profile = iceberg.profile("--oauth")
    credential = {
        "credential": f"{profile['clientId']}:{profile['clientSecret']}",
        "rest.auth.type": "oauth2",
        "oauth2-server-uri": f"{iceberg.uri}/v1/oauth/tokens",
    }
    assert sorted(row["id"] for row in orders(spark, iceberg, **credential).collect()) == IDS


def test_a_schema_has_tables_and_no_views(spark: SparkSession, iceberg: IcebergLake) -> None:
    name = catalog(spark, iceberg, **with_token(iceberg))
    tables = spark.sql(f"SHOW TABLES IN {name}.{SCHEMA}").collect()
    assert [row["tableName"] for row in tables] == ["orders"]
    jvm: Any = spark.sparkContext._jvm
    settings = jvm.java.util.HashMap()
    for key, value in {"uri": iceberg.uri, "warehouse": SHARE, **with_token(iceberg)}.items():
        settings.put(key, value)
    library = jvm.org.apache.iceberg.rest.RESTCatalog()
    library.initialize("share", settings)
    namespace = library.listNamespaces().get(0)
    assert str(namespace) == SCHEMA
    assert library.listViews(namespace).size() == 0
    library.close()
    assert "/views" not in iceberg.gateway.log
