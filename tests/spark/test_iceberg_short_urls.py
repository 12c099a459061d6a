"""A scan of Spark with Iceberg goes on after the presigned URLs of its first files have expired."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pytest
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.process.spark import require_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow

CATALOG = "spark.sql.catalog.short_urls"
TTL_SECONDS = 2
# A task a file, two at a time: six seconds of sleep.
IDS = list(range(15))
SECONDS_A_FILE = 0.8
ONE_TASK_A_FILE = {"file-open-cost": str(128 << 20)}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    require_spark()
    folder: Path = tmp_path_factory.mktemp("short-urls")
    rows = pa.table({"id": pa.array(IDS, pa.int64()), "part": pa.array(IDS, pa.int64())})
    deltalake.write_deltalake(f"{folder}/lake/orders", rows, partition_by=["part"])
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{folder}/lake/"}],
            "sharing": {"presigned_url_ttl": TTL_SECONDS},
        },
        {
            "shares": {
                "sales": {
                    "schemas": {
                        "eu": {
                            "tables": {
                                "orders": {"catalog": "raw", "table": f"file://{folder}/lake/orders"}
                            }
                        }
                    }
                }
            },
            "recipients": {"acme": {"shares": ["sales"]}},
        },
    )
    with running_gateway(folder) as running:
        yield running


def read_slowly(table: DataFrame) -> list[int]:
    """Read the ids of all rows. Each file takes some time."""

    def ids(rows: Iterator[Any]) -> Iterator[int]:
        time.sleep(SECONDS_A_FILE)
        return (row["id"] for row in rows)

    return sorted(table.rdd.mapPartitions(ids).collect())


def test_each_file_is_signed_when_it_is_opened(spark: SparkSession, gateway: RunningGateway) -> None:
    profile = json.loads(gateway.profile("acme").read_text())
    spark.conf.set(CATALOG, "org.apache.iceberg.spark.SparkCatalog")
    settings = {
        "type": "rest",
        "uri": profile["icebergEndpoint"],
        "warehouse": "sales",
        "token": profile["bearerToken"],
        "http-client.type": "urlconnection",  # Iceberg's own choice is in its AWS bundle
    }
    for key, value in settings.items():
        spark.conf.set(f"{CATALOG}.{key}", value)
    table = spark.read.options(**ONE_TASK_A_FILE).table("short_urls.eu.orders")
    began = time.monotonic()
    assert read_slowly(table) == IDS
    assert time.monotonic() - began > 2 * TTL_SECONDS
    assert gateway.log.count("/tables/orders/plan 200") >= 1
    assert gateway.log.count("/tables/orders/sign 200") >= len(IDS)
