"""Tables to convert: an ordinary bucket, a catalog over it, the service with Spark, and a gateway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import obstore
import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from spark.iceberg_doors import shared_catalog, spark_catalog
from support.delegation import API
from support.gateway import running_gateway, write_configuration
from support.iceberg_java import (
    gateway_with_storage,
    java_catalog,
    store_properties,
    writer_of,
)
from support.recipient import Recipient
from support.s3_lake import storage_of
from support.spark_tasks import (
    CATALOG,
    executor_section,
    logged_in,
    running_service,
    task,
    write_delegation,
)

from sluicegate.demo.rows import difference
from sluicegate.testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET, NAMESPACE, SHARE = "converted", "eu", "lake"


@dataclass(frozen=True)
class ConversionLake:
    """The tables, who converts them, and who reads them.

    Attributes:
        iceberg: Spark's name of the catalog; its namespace is `eu`.
        recipient: Reads the directories of the converted tables as Delta tables.
        of_iceberg: Reads the catalog's tables at the gateway's Delta Sharing door.
        door: PyIceberg at the gateway's Iceberg door.
    """

    server: SeaweedFS
    spark: SparkSession
    iceberg: str
    writer: RestCatalog
    recipient: Recipient
    of_iceberg: Recipient
    door: RestCatalog
    service: httpx.Client = field(repr=False)

    def run(self, *statements: str, **names: str) -> None:
        """Run SQL, in which `{name}` is replaced."""
        for statement in statements:
            self.spark.sql(statement.format(**names))

    def iceberg_table(self, name: str) -> str:
        """Spark's name of an Iceberg table."""
        return f"{self.iceberg}.{NAMESPACE}.{name}"

    def convert(
        self, operation: str, name: str, status: int = 200, **properties: str
    ) -> dict[str, Any]:
        """Hand an operation over; the service's answer, which has this status."""
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
        """What Iceberg's clients open the bucket with."""
        told = store_properties(self.server)
        return {name: value for name, value in told.items() if name.startswith(("s3.", "client."))}

    def metadata_location(self, name: str) -> str:
        """The current metadata file of an Iceberg table."""
        location: str = self.writer.load_table((NAMESPACE, name)).metadata_location
        return location

    def objects(self, directory: str) -> dict[str, str | None]:
        """What is below a directory of the bucket, with what tells its content."""
        listed = obstore.list(self.server.store(), prefix=directory).collect()
        return {each["path"]: each["e_tag"] for each in listed}

    def data_files(self, directory: str) -> dict[str, str | None]:
        """The Parquet files among them, without checkpoints."""
        found = self.objects(directory)
        return {
            path: tag
            for path, tag in found.items()
            if path.endswith(".parquet") and "/_delta_log/" not in path
        }

    def rows_of_delta(self, directory: str) -> pa.Table:
        """What Spark reads of the Delta table in a directory of the bucket."""
        return self.spark.read.format("delta").load(f"s3a://{BUCKET}/{directory}").toArrow()

    def rows_of_iceberg(self, name: str) -> pa.Table:
        """What Spark reads of an Iceberg table."""
        return self.spark.table(self.iceberg_table(name)).toArrow()

    def rows_at_the_door(self, name: str) -> pa.Table:
        """What PyIceberg reads of an Iceberg table at the gateway's door."""
        return self.door.load_table((NAMESPACE, name)).scan().to_arrow()


def same_rows(expected: pa.Table, *found: pa.Table) -> None:
    """Fail where rows differ; types may be spelled otherwise."""
    for rows in found:
        assert difference(expected.cast(rows.schema), rows.to_pandas()) is None


@contextmanager
def conversion_lake(
    folder: Path, spark: SparkSession, directories: Mapping[str, str]
) -> Iterator[ConversionLake]:
    """Serve all of it until the block ends.

    Args:
        folder: For configurations, databases and the store.
        spark: Writes and reads the tables.
        directories: Directories of the bucket that are shared as Delta tables, by name.
    """
    with (
        SeaweedFS.start(folder / "store", bucket=BUCKET) as server,
        java_catalog(folder, server) as uri,
        closing(_opened(spark, server)),
    ):
        writer = writer_of(uri, server)
        writer.create_namespace(NAMESPACE)
        catalog = {"uri": uri, "credentials": "storage"}
        executor = executor_section(server, folder, catalogs={CATALOG: catalog})
        write_delegation(folder / "service", executor)
        _share(folder / "gateway", server, directories)
        with (
            running_service(folder / "service", "--with-worker") as address,
            logged_in(address) as service,
            running_gateway(folder / "gateway") as gateway,
            gateway_with_storage(folder / "doors", server, uri) as (doors, of_iceberg),
        ):
            name = spark_catalog(spark, {"type": "rest", **store_properties(server), "uri": uri})
            recipient = Recipient(gateway.profile("acme"), SHARE, NAMESPACE)
            door = RestCatalog("share", **shared_catalog(doors, of_iceberg))
            yield ConversionLake(server, spark, name, writer, recipient, of_iceberg, door, service)
            assert "Traceback" not in gateway.log + doors.log


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
    """Let Spark read the bucket by Hadoop's file system, too; only this one, until it is closed."""
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
