"""Every reader table through the Iceberg catalog, read by Spark with Iceberg, file by file.

None of them has Iceberg metadata: the gateway plans the scans, and signs each request for a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from support.gateways.reader_gateway import SCHEMA, SHARE, ReaderGateway, reader_gateway
from support.process.random_cases import one_of
from support.process.spark import require_spark
from support.tables.reader_tables.tables import served_tables

from sluicegate.cli.demo.reading import difference
from sluicegate.protocols.iceberg_rest.view import snapshot_id, version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "spark.sql.catalog.by_file"
VACUUM = "spark.databricks.delta.vacuum"
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
# Tables whose versions have other columns, partitions or deletion vectors than the latest one.
TRAVELLED = [
    "checkpoint-v2-in-json",
    "dv-partitioned-with-checkpoint",
    "history-4",
    "log-replay-latest-metadata-protocol",
    "snapshot-data3",
    "snapshot-repartitioned",
    "time-travel-start-start20",
    "vectors-inline",
    "vectors-replaced",
]
# Tables whose first version was partitioned by a column that the latest one does not have.
REPARTITIONED = ["repartitioned-1", "time-travel-partition-changes-b"]


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReaderGateway]:
    require_spark()
    with reader_gateway(tmp_path_factory.mktemp("by-file")) as running:
        yield running


@pytest.fixture(scope="module")
def shared(spark: SparkSession, readers: ReaderGateway) -> SparkSession:
    """Spark with the share as a catalog, as documented."""
    profile = json.loads(readers.recipient.profile.read_text())
    # Golden tables are older than Delta allows by default.
    spark.conf.set(f"{VACUUM}.enforceTimeTravelWithinDeletedFileRetentionDuration", "false")
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


@pytest.mark.parametrize(
    "name", one_of(6, READ, pytest.mark.night("test_spark_reads_the_expected_rows"))
)
def test_spark_reads_the_expected_rows(shared: SparkSession, readers: ReaderGateway, name: str) -> None:
    found = shared.table(f"by_file.{SCHEMA}.`{name}`").toArrow()
    assert difference(readers.expected(name), found.to_pandas(date_as_object=True)) is None


@pytest.mark.parametrize(
    "name",
    one_of(
        4,
        [name for name in TRAVELLED if name in SERVED],
        pytest.mark.night("test_spark_reads_earlier_versions"),
    ),
)
def test_spark_reads_earlier_versions(shared: SparkSession, readers: ReaderGateway, name: str) -> None:
    table = f"by_file.{SCHEMA}.`{name}`"
    location = str(readers.tables.table(name).location)
    listed = shared.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").collect()
    versions = [version_of(row.snapshot_id) for row in listed]
    assert len(versions) > 1
    assert versions == list(range(versions[0], versions[-1] + 1))
    for version in versions[:: 1 + len(versions) // 5]:
        expected = shared.read.format("delta").option("versionAsOf", version).load(location)
        found = shared.sql(f"SELECT * FROM {table} VERSION AS OF {snapshot_id(version)}")
        assert found.columns == expected.columns
        pandas = found.toArrow().to_pandas(date_as_object=True)
        assert difference(expected.toArrow(), pandas) is None


@pytest.mark.parametrize("name", [name for name in REPARTITIONED if name in SERVED])
def test_versions_with_a_dropped_partition_column_are_not_listed(
    shared: SparkSession, name: str
) -> None:
    table = f"by_file.{SCHEMA}.`{name}`"
    assert shared.sql(f"SELECT * FROM {table}.snapshots").count() == 1


@pytest.mark.parametrize("name", sorted(INEXPRESSIBLE & SERVED.keys()))
def test_a_table_that_iceberg_cannot_express_is_not_found(shared: SparkSession, name: str) -> None:
    """Spark does not show the reason, which the response names."""
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        shared.table(f"by_file.{SCHEMA}.`{name}`").collect()
