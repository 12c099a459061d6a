"""Tables to convert: a bucket, a catalog of its tables, the service with Spark, and a gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import obstore
import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.catalog.rest import RestCatalog
from spark.iceberg_readers import shared_catalog, spark_catalog
from support.clients.recipient import Recipient
from support.gateways.gateway import running_gateway, write_configuration
from support.gateways.iceberg_rest import WAREHOUSE
from support.gateways.s3_lake import storage_of
from support.servers.delegation import API
from support.servers.iceberg_java import (
    gateway_with_storage,
    java_catalog,
    store_properties,
)
from support.servers.task_engine import TaskEngine
from support.tasks.spark_tasks import (
    CATALOG,
    catalogs_of,
    executor_on_engine,
    logged_in,
    running_service,
    task,
    write_delegation,
)

from sluicegate.cli.demo.reading import difference
from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# SeaweedFS' catalog vends credentials for its own bucket only.
_NOT_VENDED = {"header.X-Iceberg-Access-Delegation": "none"}
# A job whose results are larger fails: no driver gets a row for each file of a large table.
_SMALL_DRIVER = {
    "spark.driver.maxResultSize": "256k",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
BUCKET, NAMESPACE, SHARE = "converted", "eu", "lake"


@dataclass(frozen=True)
class ServedCatalog:
    """A catalog of tables in the bucket."""

    settings: Mapping[str, Any]
    client: Mapping[str, str]


@dataclass(frozen=True)
class ConversionLake:
    """The tables, and clients that convert and read them."""

    server: SeaweedFS
    spark: SparkSession
    catalog: ServedCatalog
    iceberg: str
    writer: RestCatalog
    recipient: Recipient
    of_iceberg: Recipient
    gateway_catalog: RestCatalog
    service: httpx.Client = field(repr=False)

    def run(self, *statements: str, **names: str) -> None:
        """Run SQL statements, in which `{name}` is replaced."""
        for statement in statements:
            self.spark.sql(statement.format(**names))

    def iceberg_table(self, name: str) -> str:
        """Return Spark's name of an Iceberg table."""
        return f"{self.iceberg}.{NAMESPACE}.{name}"

    def convert(
        self, operation: str, name: str, status: int = 200, **properties: str
    ) -> dict[str, Any]:
        """Submit a task, check the status of the response, and return its document."""
        told: dict[str, Any] = {"properties": properties, "config": self.credentials}
        if operation == "CONVERT_TO_DELTA":
            told["metadata_location"] = self.metadata_location(name)
        # A catalog that vends nothing hands credentials over with the task.
        payload = task(operation, name, NAMESPACE, **told)
        answer = self.service.post(f"{API}/v1/tasks/execute/synchronous", json=payload)
        assert answer.status_code == status, answer.text
        document: dict[str, Any] = answer.json()
        return document

    @property
    def credentials(self) -> dict[str, str]:
        """Return the properties with which Iceberg's clients open the bucket."""
        told = store_properties(self.server)
        return {name: value for name, value in told.items() if name.startswith(("s3.", "client."))}

    def metadata_location(self, name: str) -> str:
        """Return the location of the current metadata file of an Iceberg table."""
        location: str = self.writer.load_table((NAMESPACE, name)).metadata_location
        return location

    def objects(self, directory: str) -> dict[str, str | None]:
        """Return the objects of a directory of the bucket, with their ETags."""
        listed = obstore.list(self.server.store(), prefix=directory).collect()
        return {each["path"]: each["e_tag"] for each in listed}

    def data_files(self, directory: str) -> dict[str, str | None]:
        """Return the Parquet files of a directory, without checkpoints."""
        found = self.objects(directory)
        return {
            path: tag
            for path, tag in found.items()
            if path.endswith(".parquet") and "/_delta_log/" not in path
        }

    def rows_of_delta(self, directory: str) -> pa.Table:
        """Return what Spark reads from the Delta table in a directory of the bucket."""
        return self.spark.read.format("delta").load(f"s3a://{BUCKET}/{directory}").toArrow()

    def by_deltalake(self, directory: str) -> DeltaTable:
        """Open the Delta table in a directory of the bucket with delta-rs."""
        admin = self.server.admin
        return DeltaTable(
            f"s3://{BUCKET}/{directory}",
            storage_options={
                "endpoint": self.server.endpoint,
                "region": self.server.region,
                "access_key_id": admin.access_key_id,
                "secret_access_key": admin.secret_access_key,
                "allow_http": "true",
                "virtual_hosted_style_request": "false",
            },
        )

    def rows_of_iceberg(self, name: str) -> pa.Table:
        """Return what Spark reads from an Iceberg table."""
        return self.spark.table(self.iceberg_table(name)).toArrow()

    def rows_by_gateway(self, name: str) -> pa.Table:
        """Return what PyIceberg reads from an Iceberg table through the gateway."""
        return self.gateway_catalog.load_table((NAMESPACE, name)).scan().to_arrow()


def same_rows(expected: pa.Table, *found: pa.Table) -> None:
    """Fail if rows differ. Equivalent types are allowed."""
    for rows in found:
        assert difference(expected.cast(rows.schema), rows.to_pandas()) is None


CatalogOf = Callable[[Path, SeaweedFS], AbstractContextManager[ServedCatalog]]


@contextmanager
def icebergs_catalog(folder: Path, server: SeaweedFS) -> Iterator[ServedCatalog]:
    """Serve Iceberg's own catalog: new tables get the ids that their creator assigns."""
    with java_catalog(folder, server) as uri:
        yield ServedCatalog({"uri": uri}, {"uri": uri, **store_properties(server)})


@contextmanager
def seaweedfs_catalog(_: Path, server: SeaweedFS) -> Iterator[ServedCatalog]:
    """Serve SeaweedFS' catalog: new tables have an additional empty schema and partition spec."""
    settings = catalogs_of(server)[CATALOG]
    client = {
        **store_properties(server),
        "uri": server.iceberg_uri,
        "warehouse": settings["warehouse"],
        "credential": ":".join(settings["oauth2"].values()),
        "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
    }
    yield ServedCatalog(settings, client)


@contextmanager
def conversion_lake(
    engine: TaskEngine,
    folder: Path,
    spark: SparkSession,
    directories: Mapping[str, str],
    catalog_of: CatalogOf = icebergs_catalog,
    **executor_settings: Any,
) -> Iterator[ConversionLake]:
    """Serve the store, the catalog, the service and the gateway until the block ends."""
    with (
        SeaweedFS.start(folder / "store", bucket=BUCKET, warehouse=WAREHOUSE) as server,
        catalog_of(folder, server) as catalog,
        closing(_opened(spark, server)),
        executor_on_engine(
            engine,
            server,
            folder,
            conf=_SMALL_DRIVER,
            catalogs={CATALOG: {**catalog.settings, "credentials": "storage"}},
            **executor_settings,
        ) as executor,
    ):
        writer = RestCatalog("written", **catalog.client, **_NOT_VENDED)
        writer.create_namespace(NAMESPACE)
        write_delegation(folder / "service", executor)
        _share(folder / "gateway", server, directories)
        with (
            running_service(folder / "service", "--with-worker") as address,
            logged_in(address) as service,
            running_gateway(folder / "gateway") as gateway,
            gateway_with_storage(folder / "iceberg", server, **catalog.settings) as (
                iceberg_gateway,
                of_iceberg,
            ),
        ):
            name = spark_catalog(spark, {"type": "rest", **catalog.client})
            recipient = Recipient(gateway.profile("acme"), SHARE, NAMESPACE)
            gateway_catalog = RestCatalog("share", **shared_catalog(iceberg_gateway, of_iceberg))
            yield ConversionLake(
                server, spark, catalog, name, writer, recipient, of_iceberg, gateway_catalog, service
            )
            assert "Traceback" not in gateway.log + iceberg_gateway.log


def _share(folder: Path, server: SeaweedFS, directories: Mapping[str, str]) -> None:
    tables = {
        name: {"catalog": "raw", "table": f"s3://{BUCKET}/{directory}"}
        for name, directory in directories.items()
    }
    never_kept = {"max_age": 0, "stale_while_revalidate": 0}
    write_configuration(
        folder,
        {"catalogs": {"raw": {"type": "paths", **never_kept}}, "storage": [storage_of(server)]},
        {
            "shares": {SHARE: {"schemas": {NAMESPACE: {"tables": tables}}}},
            "recipients": {"acme": {"shares": [SHARE]}},
        },
    )


def _opened(spark: SparkSession, server: SeaweedFS) -> Any:
    """Let Spark also read the bucket through Hadoop's file system, until that is closed."""
    told = {
        "endpoint": server.endpoint,
        "endpoint.region": server.region,
        "path.style.access": "true",
        "access.key": server.admin.access_key_id,
        "secret.key": server.admin.secret_access_key,
        "connection.ssl.enabled": "false",
    }
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in told.items():
        hadoop.set(f"fs.s3a.bucket.{BUCKET}.{name}", value)
    jvm: Any = spark.sparkContext._jvm
    return jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI(f"s3a://{BUCKET}"), hadoop)
