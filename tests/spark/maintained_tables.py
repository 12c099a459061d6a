"""Tables to maintain, with clients of their catalog, store, Spark, and the gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import obstore
import pyarrow as pa
from pyiceberg.table import Table
from spark.iceberg_readers import REST, spark_catalog
from support.clients.recipient import Recipient
from support.gateways.iceberg_rest import SCHEMA, WAREHOUSE
from support.servers.iceberg_java import store_properties
from support.tasks.spark_tasks import SparkTasks, task

from sluicegate.cli.demo.reading import difference
from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MERGE_ON_READ = "'format-version' = '2', 'write.delete.mode' = 'merge-on-read'"


def result_of(answer: httpx.Response) -> dict[str, Any]:
    """Return the result of a successful task."""
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["execution_result"]
    return found


def refusal_of(answer: httpx.Response, code: str = "INVALID_PAYLOAD") -> str:
    """Return the message of a task that failed permanently."""
    assert answer.json()["error_code"] == code, answer.text
    return str(answer.json()["message"])


def objects(server: SeaweedFS, bucket: str, directory: str) -> dict[str, int]:
    """Return the objects of a directory of a bucket, with their sizes in bytes."""
    listed = obstore.list(server.store(bucket=bucket), f"{directory}/")
    return {each["path"]: each["size"] for page in listed for each in page}


@dataclass(frozen=True)
class IcebergTables:
    """Tables of the service's catalog."""

    tasks: SparkTasks
    spark: SparkSession
    direct: str
    recipient: Recipient

    @classmethod
    def of(cls, tasks: SparkTasks, spark: SparkSession, recipient: Recipient) -> IcebergTables:
        """Return the client with which the administrator writes the catalog's tables."""
        server, admin = tasks.server, tasks.server.admin
        direct = {
            **REST,
            **store_properties(server),
            "uri": server.iceberg_uri,
            "warehouse": WAREHOUSE,
            "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
            "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
        }
        return cls(tasks, spark, spark_catalog(spark, direct), recipient)

    def write(self, name: str, *changes: str, files: int = 4) -> None:
        """Create a table of small files, and change it."""
        table = f"{self.direct}.{SCHEMA}.{name}"
        created = f"CREATE TABLE {table} (id BIGINT, city STRING) USING iceberg"
        rows = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id + {n}, concat('c', id % 3) FROM range(10)"
        self.spark.sql(f"{created} TBLPROPERTIES ({_MERGE_ON_READ})")
        for number in range(files):
            self.spark.sql(rows.format(t=table, n=number * 10))
        for change in changes:
            self.spark.sql(change.format(t=table))

    def write_rows(self, name: str, rows: str) -> None:
        """Add rows to a table, in one file for each partition."""
        self.spark.sql(f"INSERT INTO {self.direct}.{SCHEMA}.{name} {rows}")

    def run(self, operation: str, name: str, **properties: str) -> httpx.Response:
        """Submit a task, and wait for its end."""
        return self.tasks.execute(task(operation, name, properties=properties))

    def rows(self, name: str, version: int | None = None) -> pa.Table:
        """Return what Spark reads without the gateway."""
        at = "" if version is None else f" VERSION AS OF {version}"
        return self.spark.sql(f"SELECT * FROM {self.direct}.{SCHEMA}.{name}{at}").toArrow()

    def check(self, name: str, rows: pa.Table) -> None:
        """Fail if Spark or a recipient reads other rows."""
        for read in (self.rows(name).to_pandas(), self.recipient.read(name, use_delta_format=True)):
            found = difference(rows, read)
            assert found is None, found

    def table(self, name: str) -> Table:
        """Load the current state of a table with PyIceberg."""
        found: Table = self.tasks.writer.load_table((SCHEMA, name))
        return found

    def files(self, name: str, content: int = 0) -> list[str]:
        """Return the current data files, or position delete files (`content=1`)."""
        found = self.table(name).inspect.files().to_pylist()
        return [each["file_path"] for each in found if each["content"] == content]

    def objects(self, name: str) -> dict[str, int]:
        """Return all objects of a table's directory."""
        return objects(self.tasks.server, WAREHOUSE, f"{SCHEMA}/{name}")

    def put(self, key: str, content: bytes) -> None:
        """Write an object into a table's directory."""
        obstore.put(self.tasks.server.store(bucket=WAREHOUSE), f"{SCHEMA}/{key}", content)
