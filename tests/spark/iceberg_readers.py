"""Clients that read the Iceberg tables of a catalog, directly and through the gateway."""

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
from support.clients.recipient import Recipient, Refusal
from support.gateways.gateway import RunningGateway
from support.gateways.iceberg_rest import SCHEMA, SHARE

from sluicegate.cli.demo.reading import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Iceberg's own choice of HTTP client is in its AWS bundle.
REST = {"type": "rest", "http-client.type": "urlconnection", "rest.auth.type": "oauth2"}


@dataclass(frozen=True)
class IcebergReaders:
    """All clients that read the tables."""

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
    ) -> IcebergReaders:
        """Return all clients for the tables of a catalog."""
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
        """Write a table, and fail if any client reads other rows than Spark reads directly."""
        for statement in table.statements:
            name = f"{SCHEMA}.{table.name}"
            self.spark.sql(statement.format(t=f"{self.direct}.{name}", c=self.direct, n=name))
        self.compare(table.name, table.parquet)

    def compare(self, name: str, parquet: str | None = None) -> None:
        """Fail if any client reads other rows than Spark reads directly.

        Args:
            parquet: The feature because of which parquet format is rejected; empty if the format has
                the rows, and `None` if it can be either.
        """
        truth = self.truth(name)
        for read in (self.by_delta_format, self.by_pyiceberg, self.by_spark):
            found = difference(truth, read(name))
            assert found is None, f"{read.__name__}: {found}"
        answered = self._in_parquet_format(name)
        if isinstance(answered, Refusal):
            assert answered.status == 400, answered
            assert parquet != "", answered
            assert (parquet or "cannot be returned in parquet format") in answered.message
        else:
            assert not parquet
            found = difference(truth, answered)
            assert found is None, f"parquet format: {found}"

    def truth(self, name: str) -> pa.Table:
        """Return what Spark reads without the gateway."""
        return self.spark.table(f"{self.direct}.{SCHEMA}.{name}").toArrow()

    def by_delta_format(self, name: str) -> pd.DataFrame:
        """Return what the official client of Delta Sharing reads."""
        return self.recipient.read(name, use_delta_format=True)

    def by_spark(self, name: str) -> pd.DataFrame:
        """Return what Spark reads from the gateway's Iceberg catalog."""
        return self.spark.table(f"{self.shared}.{SCHEMA}.{name}").toArrow().to_pandas()

    def by_pyiceberg(self, name: str) -> pd.DataFrame:
        """Return what PyIceberg reads from the gateway's Iceberg catalog."""
        return self.client.load_table((SCHEMA, name)).scan().to_arrow().to_pandas()

    def _in_parquet_format(self, name: str) -> pd.DataFrame | Refusal:
        try:
            return self.recipient.read(name, use_delta_format=False)
        except requests.HTTPError as error:
            body = error.response.json()
            return Refusal(error.response.status_code, body["errorCode"], body["message"])


def shared_catalog(gateway: RunningGateway, recipient: Recipient) -> dict[str, str]:
    """Return the properties of a gateway's Iceberg catalog for a recipient of its share."""
    token = json.loads(recipient.profile.read_text())["bearerToken"]
    return {"uri": f"{gateway.address}/iceberg", "warehouse": SHARE, "token": token}


def spark_catalog(spark: SparkSession, settings: Mapping[str, str]) -> str:
    """Configure a catalog of Iceberg tables in Spark, and return its name."""
    name = f"iceberg_{uuid4().hex}"
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in {"cache-enabled": "false", **settings}.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    return name
