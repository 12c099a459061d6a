"""Tables of a real Iceberg catalog, by Spark and PyIceberg: equal rows through every door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.transforms import TruncateTransform
from pyiceberg.types import StringType
from spark.iceberg_tables import IN_A_CATALOG, OF_VERSION_3, Written
from support.iceberg_rest import SCHEMA, SHARE, WAREHOUSE, gateway_of, written_by
from support.iceberg_sharing import IcebergSharing, iceberg_sharing
from support.recipient import Recipient, refusal_of
from support.spark import require_spark

from sluicegate.demo.rows import difference
from sluicegate.testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]

# Iceberg's own choice of HTTP client is in its AWS bundle; the catalog names no region for Java.
_REST = {
    "type": "rest",
    "http-client.type": "urlconnection",
    "rest.auth.type": "oauth2",
    "client.region": "us-east-1",
}


@dataclass(frozen=True)
class Doors:
    """The tables, and every way to their rows.

    Attributes:
        writer: PyIceberg at the catalog itself.
        direct: Spark's name of the catalog itself.
        shared: Spark's name of the gateway's Iceberg door.
        client: PyIceberg at that door.
    """

    spark: SparkSession
    writer: RestCatalog
    direct: str
    shared: str
    client: RestCatalog
    recipient: Recipient

    def check(self, table: Written) -> None:
        """Write to a table; fail where a door has other rows than Spark has directly."""
        write(self.spark, self.direct, f"{SCHEMA}.{table.name}", table)
        truth = self.truth(table.name)
        same_to_recipients(self.recipient, table.name, table, truth)
        for read in (self.by_pyiceberg, self.by_spark):
            assert difference(truth, read(table.name)) is None, read.__name__

    def truth(self, name: str) -> pa.Table:
        """What Spark reads without the gateway."""
        return self.spark.table(f"{self.direct}.{SCHEMA}.{name}").toArrow()

    def by_spark(self, name: str) -> pd.DataFrame:
        """Through the Iceberg door."""
        return self.spark.table(f"{self.shared}.{SCHEMA}.{name}").toArrow().to_pandas()

    def by_pyiceberg(self, name: str) -> pd.DataFrame:
        """Through the Iceberg door."""
        return self.client.load_table((SCHEMA, name)).scan().to_arrow().to_pandas()


@pytest.fixture(scope="module")
def doors(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    require_spark()
    folder = tmp_path_factory.mktemp("everywhere")
    options = {"access_modes": ["url", "dir"]}
    with (
        SeaweedFS.start(folder / "seaweedfs", warehouse=WAREHOUSE) as server,
        gateway_of(folder / "gateway", server, server.iceberg_uri, options) as (gateway, recipient),
    ):
        writer = written_by(server)
        writer.create_namespace(SCHEMA)
        admin, door = server.admin, f"{gateway.address}/iceberg"
        token = json.loads(recipient.profile.read_text())["bearerToken"]
        direct = {
            **_REST,
            "uri": server.iceberg_uri,
            "warehouse": WAREHOUSE,
            "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
            "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
            "s3.endpoint": server.endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": admin.access_key_id,
            "s3.secret-access-key": admin.secret_access_key,
            # SeaweedFS keeps the encoding of a transfer for that of the file.
            "s3.chunked-encoding-enabled": "false",
        }
        shared = {"uri": door, "warehouse": SHARE, "token": token}
        yield Doors(
            spark,
            writer,
            _spark_catalog(spark, direct),
            _spark_catalog(spark, {**_REST, **shared}),
            RestCatalog("share", **shared),
            recipient,
        )
        assert "Traceback" not in gateway.log


@pytest.mark.parametrize("table", IN_A_CATALOG, ids=lambda table: table.name)
def test_what_spark_writes_is_the_same_everywhere(doors: Doors, table: Written) -> None:
    doors.check(table)


def test_what_pyiceberg_and_spark_write_together_is_the_same_everywhere(doors: Doors) -> None:
    rows = pa.table({"id": pa.array(range(9), pa.int64()), "city": ["Ulm", "Köln", None] * 3})
    written = doors.writer.create_table((SCHEMA, "together"), schema=rows.schema)
    written.append(rows)
    with written.update_spec() as spec:
        spec.add_field("city", TruncateTransform(1), "initial")
    statements = ("INSERT INTO {t} VALUES (20, 'Jena'), (21, NULL)", "DELETE FROM {t} WHERE id < 3")
    table = Written("together", statements)
    doors.check(table)
    written.refresh()
    with written.update_schema() as schema:
        schema.rename_column("city", "town")
        schema.add_column("note", StringType())
    written.delete("id = 20")
    doors.check(Written("together", (), parquet="columnMapping"))


@pytest.fixture(scope="module")
def folder_of_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergSharing]:
    with (
        pytest.MonkeyPatch.context() as patch,
        iceberg_sharing(tmp_path_factory.mktemp("folder"), patch) as running,
    ):
        yield running


@pytest.mark.parametrize(("number", "table"), list(enumerate(OF_VERSION_3)))
def test_vectors_that_spark_writes_delete_the_same_rows(
    spark: SparkSession, folder_of_tables: IcebergSharing, number: int, table: Written
) -> None:
    warehouse = folder_of_tables.folder.parent
    catalog = _spark_catalog(spark, {"type": "hadoop", "warehouse": f"file://{warehouse}"})
    name = f"{folder_of_tables.folder.name}.t{number}"
    write(spark, catalog, name, table)
    truth = spark.table(f"{catalog}.{name}").toArrow()
    same_to_recipients(folder_of_tables.recipient, f"t{number}", table, truth)


def write(spark: SparkSession, catalog: str, name: str, table: Written) -> None:
    """Let Spark write a table."""
    for statement in table.statements:
        spark.sql(statement.format(t=f"{catalog}.{name}", c=catalog, n=name))


def same_to_recipients(recipient: Recipient, name: str, table: Written, truth: pa.Table) -> None:
    """Fail where the official client gets other rows, or no refusal where one is due."""
    for delta, refusal in ((False, table.parquet), (True, table.delta)):
        if refusal:
            refused = refusal_of(lambda: recipient.read(name, use_delta_format=delta))  # noqa: B023
            assert refused.status == 400
            assert refusal in refused.message
        else:
            found = difference(truth, recipient.read(name, use_delta_format=delta))
            assert found is None, f"{'delta' if delta else 'parquet'} format: {found}"


def _spark_catalog(spark: SparkSession, settings: dict[str, str]) -> str:
    name = f"iceberg_{uuid4().hex}"
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in {"cache-enabled": "false", **settings}.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    return name
