"""Delta tables are maintained on Spark through the service's API: equal rows before and after."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow as pa
import pytest
from spark.maintained_tables import objects, refusal_of, result_of
from support.clients.recipient import Recipient
from support.gateways.s3_lake import s3_lake, storage_of
from support.servers.delegation import API
from support.tasks.spark_tasks import SparkTasks, task

from sluicegate.cli.demo.reading import difference
from sluicegate_testing.servers.seaweedfs import Identity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark_tasks"),
    pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation:FutureWarning"),
]

TABLE = "orders"
_VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"


@dataclass(frozen=True)
class DeltaTables:
    """Delta tables in an ordinary bucket, without a catalog."""

    tasks: SparkTasks
    spark: SparkSession
    recipient: Recipient

    def sql(self, statement: str) -> pa.Table:
        """Return the rows of a statement; `{t}` is the table."""
        location = f"s3a://{self.tasks.server.bucket}/{TABLE}"
        return self.spark.sql(statement.format(t=f"delta.`{location}`")).toArrow()

    def run(self, operation: str, table: str = TABLE, **properties: str) -> httpx.Response:
        """Submit a task with the administrator's credentials, and wait for its end."""
        return self.tasks.execute(self.payload(operation, self.tasks.server.admin, table, **properties))

    def payload(
        self, operation: str, identity: Identity, table: str = TABLE, **properties: str
    ) -> dict[str, Any]:
        """Return a task with the credentials of an identity."""
        server = self.tasks.server
        config = {
            "s3.access-key-id": identity.access_key_id,
            "s3.secret-access-key": identity.secret_access_key,
            "s3.endpoint": server.endpoint,
            "s3.path-style-access": "true",
            "client.region": server.region,
        }
        told = {"format": "delta", "location": f"s3://{server.bucket}/{table}", **properties}
        return task(operation, table, catalog="none", config=config, properties=told)

    def check(self, rows: pa.Table) -> None:
        """Fail if Spark or a recipient reads other rows."""
        self.spark.sql(f"REFRESH TABLE delta.`s3a://{self.tasks.server.bucket}/{TABLE}`")
        by_recipient = self.recipient.read(TABLE, use_delta_format=True)
        for read in (self.sql("SELECT * FROM {t}").to_pandas(), by_recipient):
            found = difference(rows, read)
            assert found is None, found

    def objects(self) -> dict[str, int]:
        """Return the objects of the table, without its log."""
        found = objects(self.tasks.server, self.tasks.server.bucket, TABLE)
        return {path: size for path, size in found.items() if "/_delta_log/" not in path}


@pytest.fixture(scope="module")
def tables(
    spark_tasks: SparkTasks, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeltaTables]:
    server = spark_tasks.server
    session = spark.newSession()
    for name, value in {
        "fs.s3a.access.key": server.admin.access_key_id,
        "fs.s3a.secret.key": server.admin.secret_access_key,
        "fs.s3a.endpoint": server.endpoint,
        "fs.s3a.endpoint.region": server.region,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.impl.disable.cache": "true",
    }.items():
        session.conf.set(name, value)
    folder = tmp_path_factory.mktemp("gateway")
    with s3_lake(folder, storage_of(server), [TABLE]) as lake:
        found = DeltaTables(spark_tasks, session, lake.recipient)
        found.sql(f"CREATE TABLE {{t}} (id BIGINT, city STRING) USING delta {_VECTORS}")
        for start in (0, 10, 20):
            found.sql(f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id + {start}, 'c' FROM range(10)")
        found.sql("DELETE FROM {t} WHERE id % 10 = 3")
        yield found


@pytest.fixture(scope="module")
def waited(tables: DeltaTables) -> dict[str, Any]:
    """The result of a compaction whose thresholds are not reached."""
    files = tables.objects()
    found = result_of(
        tables.run("TABLE_COMPACTION", only_if_small_files="4", only_if_deleted_rows="10.1%")
    )
    assert tables.objects() == files
    return found


@pytest.fixture(scope="module")
def compacted(tables: DeltaTables, waited: dict[str, Any]) -> pa.Table:
    """Compact the table, and return its rows."""
    rows = tables.sql("SELECT * FROM {t}")
    tables.check(rows)
    done = result_of(tables.run("TABLE_COMPACTION", only_if_deleted_rows="10%"))
    assert (done["rewritten_data_files"], done["added_data_files"]) == (3, 1)
    assert done["removed_deletion_vectors"] == 3
    assert done["rewritten_bytes"] > 0
    tables.check(rows)
    return rows


def test_compaction_waits_for_its_thresholds(
    tables: DeltaTables, waited: dict[str, Any], compacted: pa.Table
) -> None:
    assert (waited["small_files"], waited["deleted_rows"]) == (3, 3)
    one = result_of(tables.run("TABLE_COMPACTION", only_if_small_files="2", only_if_deleted_rows="1"))
    assert (one["small_files"], one["deleted_rows"]) == (0, 0)


def test_compaction_joins_files_and_takes_deleted_rows_out(
    tables: DeltaTables, compacted: pa.Table
) -> None:
    again = result_of(tables.run("TABLE_COMPACTION", zorder_by="id"))
    assert again["added_data_files"] <= 1
    tables.check(compacted)


def test_vacuum_deletes_what_the_log_has_not_needed_for_a_while(
    tables: DeltaTables, compacted: pa.Table
) -> None:
    held = tables.objects()
    assert result_of(tables.run("TABLE_VACUUM"))["files_deleted"] == 0
    assert "less than 168" in refusal_of(tables.run("TABLE_VACUUM", retain_hours="0"))
    told = {"retain_hours": "0", "force": "true"}
    shown = result_of(tables.run("TABLE_VACUUM", **told, dry_run="true"))
    assert tables.objects() == held
    done = result_of(tables.run("TABLE_VACUUM", **told))
    gone = {path: size for path, size in held.items() if path not in tables.objects()}
    assert done["files_deleted"] == shown["unneeded_files"] == len(gone) >= 4
    assert any(path.endswith(".bin") for path in gone)
    assert done["bytes_deleted"] == sum(gone.values())
    tables.check(compacted)
    assert result_of(tables.run("TABLE_VACUUM", **told))["files_deleted"] == 0


def test_files_of_an_iceberg_table_are_not_vacuumed(tables: DeltaTables, compacted: pa.Table) -> None:
    import obstore

    server = tables.tasks.server
    obstore.put(server.store(), f"{TABLE}/metadata/00000-a.metadata.json", b"{}")
    refused = refusal_of(tables.run("TABLE_VACUUM"))
    assert "an Iceberg table is in the table's directory" in refused
    obstore.delete(server.store(), f"{TABLE}/metadata/00000-a.metadata.json")


@pytest.mark.parametrize(
    ("operation", "properties", "code", "message"),
    [
        ("TABLE_COMPACTION", {"z_order": "id"}, "INVALID_PAYLOAD", "the most similar one is"),
        ("TABLE_COMPACTION", {"where": "id = 1"}, "INVALID_PAYLOAD", "`id` is not a partition column"),
        ("TABLE_COMPACTION", {"where": "no = 1"}, "INVALID_PAYLOAD", "the table has no column `no`"),
        ("TABLE_COMPACTION", {"where": "id = 1 ZORDER BY (id)"}, "INVALID_PAYLOAD", "from character 8"),
        ("TABLE_COMPACTION", {"zorder_by": "`no``pe`"}, "INVALID_PAYLOAD", "no column `no``pe`"),
        ("TABLE_VACUUM", {"retain_hours": "a week"}, "INVALID_PAYLOAD", "'retain_hours': input should"),
        ("SNAPSHOT_EXPIRY", {}, "INVALID_PAYLOAD", "properties: 'format'"),
    ],
)
def test_impossible_settings_are_reported(
    tables: DeltaTables,
    compacted: pa.Table,
    operation: str,
    properties: dict[str, str],
    code: str,
    message: str,
) -> None:
    assert message in refusal_of(tables.run(operation, **properties), code)


@pytest.mark.parametrize("operation", ["TABLE_COMPACTION", "TABLE_VACUUM"])
def test_a_missing_table_is_reported(tables: DeltaTables, operation: str) -> None:
    message = refusal_of(tables.run(operation, "missing`table"))
    assert message == "there is no Delta table at s3://lake/missing`table"


def test_another_tasks_credentials_open_nothing(tables: DeltaTables, compacted: pa.Table) -> None:
    assert result_of(tables.run("TABLE_COMPACTION"))["rewritten_data_files"] == 0
    nobody = tables.payload("TABLE_COMPACTION", tables.tasks.server.nobody, where="true")
    task_id = tables.tasks.http.post(f"{API}/v1/tasks", json=nobody).json()["delegation_task_id"]
    ends = time.monotonic() + 120
    while (record := tables.tasks.record(task_id))["status"] != "RETRY_SCHEDULED":
        assert time.monotonic() < ends, record
        time.sleep(1)
    assert record["error_code"] == "STORAGE_FAILED"
    tables.tasks.http.post(f"{API}/v1/tasks/{task_id}/cancel").raise_for_status()
