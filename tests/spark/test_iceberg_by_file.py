"""Every reader table through the Iceberg catalog, read by Spark with Iceberg, file by file.

None of them has Iceberg metadata: the gateway plans the scans, and signs each request for a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support.gateways.reader_gateway import SCHEMA, SHARE, ReaderGateway, reader_gateway
from support.process.spark import require_spark
from support.tables.reader_tables.tables import served_tables

from sluicegate.cli.demo.rows import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "spark.sql.catalog.by_file"
SERVED = served_tables()
# Values of lists and maps have no field ids in their files.
INEXPRESSIBLE = {
    "mapped-by-id",
    "mapped-by-name",
    "table-with-columnmapping-mode-id",
    "table-with-columnmapping-mode-name",
}
READ = [
    name
    for name, each in SERVED.items()
    if each.unreadable is None
    and each.stand_ins is None
    and each.zone is None
    and name not in INEXPRESSIBLE
]


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReaderGateway]:
    require_spark()
    with reader_gateway(tmp_path_factory.mktemp("by-file")) as running:
        yield running


@pytest.fixture(scope="module")
def shared(spark: SparkSession, readers: ReaderGateway) -> SparkSession:
    """Spark with the share as a catalog, as documented."""
    profile = json.loads(readers.recipient.profile.read_text())
    spark.conf.set(CATALOG, "org.apache.iceberg.spark.SparkCatalog")
    settings = {
        "type": "rest",
        "uri": profile["icebergEndpoint"],
        "warehouse": SHARE,
        "token": profile["bearerToken"],
        "http-client.type": "urlconnection",  # Iceberg's own choice is in its AWS bundle
    }
    for key, value in settings.items():
        spark.conf.set(f"{CATALOG}.{key}", value)
    return spark


@pytest.mark.parametrize("name", READ)
def test_spark_reads_the_expected_rows(shared: SparkSession, readers: ReaderGateway, name: str) -> None:
    found = shared.table(f"by_file.{SCHEMA}.`{name}`").toArrow()
    assert difference(readers.expected(name), found.to_pandas(date_as_object=True)) is None


@pytest.mark.parametrize("name", sorted(INEXPRESSIBLE & SERVED.keys()))
def test_a_table_that_iceberg_cannot_express_is_not_found(shared: SparkSession, name: str) -> None:
    """Spark does not show the reason, which the response names."""
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        shared.table(f"by_file.{SCHEMA}.`{name}`").collect()
