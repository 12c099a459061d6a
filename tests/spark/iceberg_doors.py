"""Every way to the rows of a catalog's Iceberg tables: around the gateway, and through its doors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pandas as pd
import pyarrow as pa
import requests
from pyiceberg.catalog.rest import RestCatalog
from spark.iceberg_tables import Written
from support.gateway import RunningGateway
from support.iceberg_rest import SCHEMA, SHARE
from support.recipient import Recipient, Refusal

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
        shared = shared_catalog(gateway, recipient)
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
        self.compare(table.name, table.parquet)

    def compare(self, name: str, parquet: str | None = None) -> None:
        """Fail where a door has other rows than Spark has directly.

        Args:
            name: The table.
            parquet: What the refusal of parquet format names; empty where it has the rows, and `None`
                where it may be either.
        """
        truth = self.truth(name)
        for read in (self.by_delta_format, self.by_pyiceberg, self.by_spark):
            found = difference(truth, read(name))
            assert found is None, f"{read.__name__}: {found}"
        answered = self._in_parquet_format(name)
        if isinstance(answered, Refusal):
            assert answered.status == 400, answered
            assert parquet != "", answered
            assert (parquet or "cannot be answered in parquet format") in answered.message
        else:
            assert not parquet
            found = difference(truth, answered)
            assert found is None, f"parquet format: {found}"

    def truth(self, name: str) -> pa.Table:
        """What Spark reads without the gateway."""
        return self.spark.table(f"{self.direct}.{SCHEMA}.{name}").toArrow()

    def by_delta_format(self, name: str) -> pd.DataFrame:
        """Through the Delta Sharing door, by the official client."""
        return self.recipient.read(name, use_delta_format=True)

    def by_spark(self, name: str) -> pd.DataFrame:
        """Through the Iceberg door."""
        return self.spark.table(f"{self.shared}.{SCHEMA}.{name}").toArrow().to_pandas()

    def by_pyiceberg(self, name: str) -> pd.DataFrame:
        """Through the Iceberg door."""
        return self.client.load_table((SCHEMA, name)).scan().to_arrow().to_pandas()

    def _in_parquet_format(self, name: str) -> pd.DataFrame | Refusal:
        try:
            return self.recipient.read(name, use_delta_format=False)
        except requests.HTTPError as error:
            body = error.response.json()
            return Refusal(error.response.status_code, body["errorCode"], body["message"])


def shared_catalog(gateway: RunningGateway, recipient: Recipient) -> dict[str, str]:
    """The properties of a gateway's Iceberg door, for a recipient of its share."""
    token = json.loads(recipient.profile.read_text())["bearerToken"]
    return {"uri": f"{gateway.address}/iceberg", "warehouse": SHARE, "token": token}


def spark_catalog(spark: SparkSession, settings: Mapping[str, str]) -> str:
    """Configure a catalog of Iceberg tables; its name."""
    name = f"iceberg_{uuid4().hex}"
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in {"cache-enabled": "false", **settings}.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    return name
