"""Tasks of a realm on Spark access nothing outside of its grant, whatever files its tables name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import obstore
import orjson
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.table import Table
from support.gateways.iceberg_rest import WAREHOUSE
from support.servers.delegation import SECRET
from support.servers.task_engine import TaskEngine
from support.tables.purged_tables import (
    ROWS,
    config_of,
    handed_over,
    make,
    name_files,
    objects_of,
    own_catalog,
)
from support.tasks.spark_tasks import CATALOG, SparkTasks, spark_tasks, task

from sluicegate_spark.operations import OPERATIONS
from sluicegate_testing.servers.seaweedfs import SeaweedFS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("grants")]

OWN = "own"  # the attacker's folder in both buckets, and its namespace
REALMS: dict[str, dict[str, Any]] = {
    "stage": {
        "catalogs": [CATALOG],
        "locations": [f"s3://lake/{OWN}/", f"s3://{WAREHOUSE}/{OWN}/"],
        "operations": sorted(OPERATIONS),
    },
    "prod": {},
}
CLIENTS = {"polaris": {"secret": SECRET, "realms": ["stage"]}}
PURGE, COMPACTION, EXPIRY = "TABLE_PURGE", "TABLE_COMPACTION", "SNAPSHOT_EXPIRY"


@pytest.fixture(scope="module")
def tasks(tasks_on: TaskEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTasks]:
    folder = tmp_path_factory.mktemp("tasks")
    with spark_tasks(tasks_on, folder, realms=REALMS, clients=CLIENTS) as running:
        running.writer.create_namespace_if_not_exists(OWN)
        yield running


@pytest.fixture(scope="module")
def victim(tasks: SparkTasks) -> Table:
    """Create a table of another realm in the same catalog."""
    return make(tasks.writer, "victim")


def own(tasks: SparkTasks, name: str, *files: str, **properties: str) -> Table:
    """Create a table of the attacker that also names the given files."""
    table: Table = tasks.writer.create_table((OWN, name), ROWS.schema)
    table.append(ROWS)
    table.append(ROWS)
    if properties:
        table.transaction().set_properties(properties).commit_transaction()
    if files:
        name_files(table, files)
    return table


def file_of(table: Table) -> str:
    """Return one of the data files of a table."""
    return min(each.file.file_path for each in table.scan().plan_files())


def kept(server: SeaweedFS) -> dict[str, dict[str, int]]:
    """Return all objects outside of the attacker's grant."""
    return {
        bucket: {
            key: size
            for key, size in objects_of(server, bucket).items()
            if not key.startswith(f"{OWN}/")
        }
        for bucket in (server.bucket, WAREHOUSE)
    }


def refused(tasks: SparkTasks, payload: Mapping[str, Any]) -> str:
    """Check that a task is not granted and changes nothing, and return its message."""
    before = kept(tasks.server), objects_of(tasks.server, WAREHOUSE)
    payload["common_payload"]["realm_identifier"] = "stage"
    answer = tasks.execute(payload)
    assert (answer.status_code, answer.json()["error_code"]) == (403, "NOT_GRANTED"), answer.text
    assert (kept(tasks.server), objects_of(tasks.server, WAREHOUSE)) == before
    return str(answer.json()["message"])


def done(tasks: SparkTasks, payload: Mapping[str, Any]) -> httpx.Response:
    """Check that a granted task changes nothing of the other realm, and return the response."""
    before = kept(tasks.server)
    payload["common_payload"]["realm_identifier"] = "stage"
    answer = tasks.execute(payload)
    assert answer.status_code == 200, answer.text
    assert kept(tasks.server) == before
    return answer


def test_a_table_of_another_realm_is_not_purged(tasks: SparkTasks, victim: Table) -> None:
    payload = task(PURGE, "victim", properties={"drop_catalog_entry": "true"})
    assert f"'{victim.location()}'" in refused(tasks, payload)
    assert tasks.writer.table_exists(("eu", "victim"))


@pytest.mark.parametrize("operation", [PURGE, COMPACTION, EXPIRY, "CONVERT_TO_DELTA"])
def test_a_file_of_another_realm_in_a_table_is_not_touched(
    tasks: SparkTasks, victim: Table, operation: str
) -> None:
    name = f"borrows_for_{operation.lower()}"
    own(tasks, name, file_of(victim))
    said = refused(tasks, task(operation, name, OWN, properties={}))
    assert f"'{file_of(victim)}'" in said


@pytest.mark.parametrize("operation", [COMPACTION, "ORPHAN_FILE_REMOVAL"])
def test_nothing_is_written_where_a_table_sends_its_writers(
    tasks: SparkTasks, victim: Table, operation: str
) -> None:
    name = f"writes_for_{operation.lower()}"
    own(tasks, name, **{"write.metadata.path": f"{victim.location()}/metadata"})
    assert f"'{victim.location()}" in refused(tasks, task(operation, name, OWN))


def test_metadata_of_before_is_not_deleted_where_it_is_another_realms(
    tasks: SparkTasks, victim: Table, tmp_path: Path
) -> None:
    catalog = own_catalog(tasks.server, tmp_path)
    location = f"s3://{tasks.server.bucket}/{OWN}/logged"
    table = catalog.create_table("eu.logged", ROWS.schema, location=location)
    store, key = tasks.server.store(), table.metadata_location.removeprefix("s3://lake/")
    document = orjson.loads(bytes(obstore.get(store, key).bytes()))
    document["metadata-log"] = [{"timestamp-ms": 1, "metadata-file": victim.metadata_location}]
    obstore.put(store, key, orjson.dumps(document))
    payload = task(PURGE, "logged", **handed_over(table, config_of(tasks.server)))
    assert f"'{victim.metadata_location}'" in refused(tasks, payload)


@pytest.mark.parametrize("path", ["s3://warehouse/eu/x.parquet", "../other/x.parquet"])
@pytest.mark.parametrize("operation", [COMPACTION, "TABLE_VACUUM"])
def test_a_delta_log_that_names_other_files_is_not_opened_by_spark(
    tasks: SparkTasks, operation: str, path: str
) -> None:
    server = tasks.server
    folder = f"{OWN}/delta"
    options = {
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": server.region,
        "AWS_ACCESS_KEY_ID": server.admin.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.admin.secret_access_key,
    }
    rows = pa.table({"id": [1, 2, 3]})
    write_deltalake(f"s3://lake/{folder}", rows, mode="overwrite", storage_options=options)
    add = {"path": path, "partitionValues": {}, "size": 9, "modificationTime": 1, "dataChange": True}
    store = server.store()
    version = len(obstore.list(store, f"{folder}/_delta_log").collect())
    obstore.put(store, f"{folder}/_delta_log/{version:020}.json", orjson.dumps({"add": add}))
    payload = task(
        operation,
        "delta",
        catalog="none",
        config=config_of(server),
        properties={"format": "delta", "location": f"s3://lake/{folder}"},
    )
    assert path in refused(tasks, payload)


def test_what_is_granted_is_done(tasks: SparkTasks, victim: Table) -> None:
    own(tasks, "granted")
    options = {"min-input-files": "2"}
    for operation, properties in ((COMPACTION, options), (EXPIRY, {}), (PURGE, {})):
        done(tasks, task(operation, "granted", OWN, properties=properties))
    assert not [key for key in objects_of(tasks.server, WAREHOUSE) if f"{OWN}/granted/data/" in key]
