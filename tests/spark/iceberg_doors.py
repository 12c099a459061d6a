"""Every way to the rows of a catalog's Iceberg tables: around the gateway, and through its doors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pandas as pd
import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from spark.iceberg_tables import Written
from support.gateway import RunningGateway
from support.iceberg_rest import SCHEMA, SHARE
from support.recipient import Recipient, refusal_of

from sluicegate.demo.rows import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Iceberg's own choice of HTTP client is in its AWS bundle.
REST = {"type": "rest", "http-client.type": "urlconnection", "rest.auth.type": "oauth2"}


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

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        writer: RestCatalog,
        direct: Mapping[str, str],
        gateway: RunningGateway,
        recipient: Recipient,
    ) -> Doors:
        """All ways to the tables of a catalog.

        Args:
            spark: Reads and writes.
            writer: PyIceberg at the catalog.
            direct: Spark's settings for the catalog.
            gateway: Shares its schema `eu`.
            recipient: May read it.
        """
        writer.create_namespace(SCHEMA)
        token = json.loads(recipient.profile.read_text())["bearerToken"]
        shared = {"uri": f"{gateway.address}/iceberg", "warehouse": SHARE, "token": token}
        return cls(
            spark,
            writer,
            spark_catalog(spark, direct),
            spark_catalog(spark, {**REST, **shared}),
            RestCatalog("share", **shared),
            recipient,
        )

    def check(self, table: Written) -> None:
        """Write to a table; fail where a door has other rows than Spark has directly."""
        for statement in table.statements:
            name = f"{SCHEMA}.{table.name}"
            self.spark.sql(statement.format(t=f"{self.direct}.{name}", c=self.direct, n=name))
        truth = self.truth(table.name)
        for delta, refusal in ((False, table.parquet), (True, table.delta)):
            self._same_to_recipients(table.name, truth, refusal, delta=delta)
        for read in (self.by_pyiceberg, self.by_spark):
            found = difference(truth, read(table.name))
            assert found is None, f"{read.__name__}: {found}"

    def truth(self, name: str) -> pa.Table:
        """What Spark reads without the gateway."""
        return self.spark.table(f"{self.direct}.{SCHEMA}.{name}").toArrow()

    def by_spark(self, name: str) -> pd.DataFrame:
        """Through the Iceberg door."""
        return self.spark.table(f"{self.shared}.{SCHEMA}.{name}").toArrow().to_pandas()

    def by_pyiceberg(self, name: str) -> pd.DataFrame:
        """Through the Iceberg door."""
        return self.client.load_table((SCHEMA, name)).scan().to_arrow().to_pandas()

    def _same_to_recipients(self, name: str, truth: pa.Table, refusal: str, *, delta: bool) -> None:
        """Fail where the official client gets other rows, or no refusal where one is due."""
        if refusal:
            refused = refusal_of(lambda: self.recipient.read(name, use_delta_format=delta))
            assert refused.status == 400
            assert refusal in refused.message
        else:
            found = difference(truth, self.recipient.read(name, use_delta_format=delta))
            assert found is None, f"{'delta' if delta else 'parquet'} format: {found}"


def spark_catalog(spark: SparkSession, settings: Mapping[str, str]) -> str:
    """Configure a catalog of Iceberg tables; its name."""
    name = f"iceberg_{uuid4().hex}"
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in {"cache-enabled": "false", **settings}.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    return name
