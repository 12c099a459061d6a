"""Sources, the copies that the executor makes of them, and recipients who read these."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from spark.iceberg_readers import REST, spark_catalog
from support.clients.recipient import Recipient
from support.gateways.gateway import RunningGateway
from support.gateways.iceberg_rest import SCHEMA as NAMESPACE
from support.gateways.iceberg_rest import WAREHOUSE
from support.servers.iceberg_java import store_properties

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskResult
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.copies.config import MATERIALIZED
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.materialization import REFRESH_MATERIALIZATION
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "of-the-tests-" + "k" * 32
SHARE, SCHEMA = "partners", "sales"
# What each recipient may see, by its property `country`.
RECIPIENTS = {"acme": "DE", "globex": "FR", "initech": "it's"}
COLUMNS = {
    "ssn": "hide",
    "email": "hash",
    "phone": {"truncate": 3},
    "note": None,
    "total": {"expression": "ROUND(total * 2, 1) + 1"},
}
ROWS = "status <> 'draft' AND id >= 0"
QUERY = """
    WITH paid AS (SELECT * FROM orders WHERE status = 'paid')
    SELECT c.country, c.name, count(*) AS orders, round(sum(p.total), 6) AS total
    FROM paid p JOIN customers c ON p.customer = c.id
    GROUP BY c.country, c.name
"""
ORDERS = (
    "id BIGINT, country STRING, status STRING, customer BIGINT, total DOUBLE, ssn STRING, "
    "email STRING, phone STRING, note STRING"
)
NO_QUERIES = "queries are not possible with Spark Connect, which does not show their plan"
CUSTOMERS = "id BIGINT, country STRING, name STRING"


def hashed(value: str | None) -> str | None:
    """Return the documented hash of a value: HMAC-SHA-256 with a key that is derived from the key."""
    own = hmac.digest(KEY.encode(), b"sluicegate: hashes of column values", "sha256")
    return None if value is None else hmac.new(own, value.encode(), hashlib.sha256).hexdigest()


@dataclass
class Copies:
    """An executor with configured copies."""

    spark: SparkSession
    executor: Mapping[str, Any] = field(repr=False)
    folder: Path
    tables: Mapping[str, Any]
    catalogs: Mapping[str, Any] = field(default_factory=dict)

    def refresh(self, name: str, **properties: str) -> TaskResult:
        """Run the task of a copy, in an executor that uses the Spark of this process."""
        keep_secret(KEY)
        section = {
            **self.executor,
            "materialized": {
                "location": f"file://{self.folder}/copies",
                "key": KEY,
                "tables": self.tables,
            },
            "catalogs": self.catalogs,
            "endpoints": ["127.0.0.1"],
        }
        namespace, _, table = name.partition(".")
        identity = TableIdentity(name, MATERIALIZED, (namespace,), table)
        everything = RealmGrant(None, None, None)
        task = DelegatedTask(
            uuid4().hex,
            REFRESH_MATERIALIZATION,
            "prod",
            identity,
            properties=properties,
            grant=everything,
        )

        async def run() -> TaskResult:
            executor = SparkExecutor.configured(SparkConfig.model_validate(section), FakeContext())
            try:
                return await executor.run(task, await executor.acquire(task), RecordedRun())
            finally:
                await executor.aclose()

        return asyncio.run(run())

    def location(self, name: str, *, by_recipient: bool = True) -> Path:
        """Return the directory of a copy."""
        suffix = ".by-recipient" if by_recipient else ""
        return self.folder / "copies" / f"{name.replace('.', '/')}{suffix}"


@dataclass(frozen=True)
class Readers:
    """Recipients of copies, by every protocol that the gateway offers."""

    gateway: RunningGateway
    profiles: Mapping[str, Path]

    @classmethod
    def of(cls, gateway: RunningGateway) -> Readers:
        """Return readers with new profiles."""
        return cls(gateway, {name: gateway.profile(name) for name in RECIPIENTS})

    def read(self, recipient: str, table: str) -> list[list[dict[str, Any]]]:
        """Return the rows of a table, as each client reads them."""
        by_sharing = Recipient(self.profiles[recipient], SHARE, SCHEMA)
        frames = [by_sharing.read(table, use_delta_format=each) for each in (False, True)]
        return [
            *(pa.Table.from_pandas(frame, preserve_index=False).to_pylist() for frame in frames),
            self.by_iceberg(recipient).load_table((SCHEMA, table)).scan().to_arrow().to_pylist(),
        ]

    def by_iceberg(self, recipient: str) -> RestCatalog:
        """Return the Iceberg catalog of a recipient."""
        profile = json.loads(self.profiles[recipient].read_text())
        return RestCatalog(
            "share", uri=profile["icebergEndpoint"], warehouse=SHARE, token=profile["bearerToken"]
        )


def shares(copies: Copies, names: Sequence[str], **options: Any) -> dict[str, Any]:
    """Return the shares file for copies with the filter by country."""
    tables = {
        name: {
            "catalog": "copies",
            "table": f"file://{copies.location(f'sales.{name}')}",
            "partition_filter": "country = recipient.country",
            **options,
        }
        for name in names
    }
    return {
        "shares": {SHARE: {"schemas": {SCHEMA: {"tables": tables}}}},
        "recipients": {
            name: {"shares": [SHARE], "properties": {"country": country}}
            for name, country in RECIPIENTS.items()
        },
    }


def catalog_of(spark: SparkSession, server: SeaweedFS) -> str:
    """Return Spark's name of the Iceberg catalog of a store, with the namespace of the tests."""
    admin = server.admin
    catalog = spark_catalog(
        spark,
        {
            **REST,
            **store_properties(server),
            "uri": server.iceberg_uri,
            "warehouse": WAREHOUSE,
            "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
            "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
        },
    )
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{NAMESPACE}")
    return catalog


def comparable(rows: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[str, str], ...]]:
    """Return rows in an order and a form in which equal ones are equal."""
    plain = ({name: None if value != value else value for name, value in row.items()} for row in rows)
    return sorted(
        tuple(sorted((name, "" if value is None else str(value)) for name, value in row.items()))
        for row in plain
    )
