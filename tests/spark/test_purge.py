"""Tables are purged on Spark through the service's API, in a real store.

Source: Polaris delegation proposal, "Order Of Deletion", "Failure States (Synchronous)".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from support.process.random_cases import times
from support.servers.task_engine import TaskEngine
from support.tables.purged_tables import (
    add_all_kinds,
    below,
    config_of,
    handed_over,
    make,
    name_files,
    objects_of,
    own_catalog,
)
from support.tasks.spark_tasks import CATALOG, SparkTasks, spark_tasks, task

from sluicegate_testing.secrets import keep_secret
from sluicegate_testing.servers.refusing_store import refusing_store

# One worker of the run has the service, and with it a JVM.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("purge")]

PURGE = "TABLE_PURGE"
SOON: dict[str, Any] = {"retry": {"initial_backoff": 2, "max_backoff": 2, "max_attempts": 100}}


@pytest.fixture(scope="module")
def tasks(tasks_on: TaskEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTasks]:
    with spark_tasks(tasks_on, tmp_path_factory.mktemp("tasks"), **SOON) as running:
        keep_secret(running.server.admin.secret_access_key)
        yield running


@pytest.fixture(scope="module")
def catalog(tasks: SparkTasks, tmp_path_factory: pytest.TempPathFactory) -> SqlCatalog:
    return own_catalog(tasks.server, tmp_path_factory.mktemp("catalog"))


def counted(answer: httpx.Response) -> tuple[int, int]:
    """Return the number of files and bytes that a successful purge deleted."""
    assert answer.status_code == 200, answer.text
    result = answer.json()["execution_result"]
    return result["files_deleted"], result["bytes_deleted"]


def refusal(answer: httpx.Response, status: int, code: str) -> str:
    """Return the message of a failure."""
    assert (answer.status_code, answer.json()["error_code"]) == (status, code), answer.text
    return str(answer.json()["message"])


def wait_for(
    tasks: SparkTasks, task_id: str, is_met: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Wait until the record of a task meets a condition, and return it."""
    deadline = time.monotonic() + 300
    while not is_met(record := tasks.record(task_id)):
        assert time.monotonic() < deadline, record
        time.sleep(0.2)
    return record


# Several batches of deletions at night; a few files for each change.
SNAPSHOTS, FILES = (48, 42) if times() > 1 else (8, 20)


def test_all_of_a_large_table_is_deleted_and_nothing_else(
    tasks: SparkTasks, catalog: SqlCatalog
) -> None:
    table = make(catalog, "large", snapshots=SNAPSHOTS, files=FILES)
    add_all_kinds(table)
    make(catalog, "large2", snapshots=1)
    tasks.server.put("eu/large/data/of-somebody-else.txt", b"mine")
    before = objects_of(tasks.server)
    ours = below(before, "eu/large")
    assert len(table.metadata.snapshots) == SNAPSHOTS + 2
    payload = task(PURGE, "large", **handed_over(table, config_of(tasks.server)))
    assert counted(tasks.execute(payload)) == (len(ours) - 1, sum(ours.values()) - 4)
    left = before.keys() - (ours.keys() - {"eu/large/data/of-somebody-else.txt"})
    assert objects_of(tasks.server).keys() == left


def test_a_table_of_a_catalog_is_purged_by_credentials_of_its_own(tasks: SparkTasks) -> None:
    make(tasks.writer, "orders")
    make(tasks.writer, "orders2", snapshots=1)
    before = objects_of(tasks.server, "warehouse")
    ours = below(before, "eu/orders")
    answer = tasks.execute(task(PURGE, "orders", correlation_id="drop-1"))
    assert counted(answer) == (len(ours), sum(ours.values()))
    assert objects_of(tasks.server, "warehouse").keys() == before.keys() - ours.keys()
    record = tasks.record(answer.json()["delegation_task_id"])
    stages = [stage.partition(" of ")[0] for stage in record["stages"]]
    assert stages == ["content", "manifests", "manifest-lists", "old-metadata", "metadata"]
    again = tasks.execute(task(PURGE, "orders", correlation_id="drop-2"))
    assert counted(again) == (0, 0)
    assert "already purged" in again.json()["message"]


def test_what_the_store_refuses_keeps_the_metadata_until_it_is_gone(
    tasks: SparkTasks, catalog: SqlCatalog
) -> None:
    table = make(catalog, "refused", snapshots=3, files=5)
    ours = below(objects_of(tasks.server), "eu/refused")
    with refusing_store(tasks.server) as proxy:
        proxy.refuses = lambda key: "/data/001-" in key
        payload = task(PURGE, "refused", **handed_over(table, config_of(tasks.server, proxy.endpoint)))
        started = tasks.http.post("/delegation-service/api/v1/tasks", json=payload).json()
        task_id = started["delegation_task_id"]
        waiting = wait_for(tasks, task_id, lambda record: record["status"] == "RETRY_SCHEDULED")
        left = below(objects_of(tasks.server), "eu/refused")
        assert {key for key in left if "/data/" in key} == {
            f"eu/refused/data/001-{number:03}.parquet" for number in range(5)
        }
        assert {key for key in left if "/metadata/" in key} == {
            key for key in ours if "/metadata/" in key
        }
        assert "5 of 15 files of the stage 'content' could not be deleted" in str(waiting)
        proxy.refuses = lambda key: False
        ended = wait_for(tasks, task_id, lambda record: record["status"] in ("SUCCESS", "FAILURE"))
    assert ended["status"] == "SUCCESS"
    assert below(objects_of(tasks.server), "eu/refused") == {}
    progress = ended["progress"]
    assert progress["files_done"] == progress["files_total"] == len(ours)
    assert progress["bytes_done"] == sum(ours.values())


def test_a_missing_manifest_stops_the_purge_unless_it_is_to_be_skipped(
    tasks: SparkTasks, catalog: SqlCatalog
) -> None:
    table = make(catalog, "holed", snapshots=2, files=2)
    first = table.snapshots()[0].manifests(table.io)[0].manifest_path
    tasks.server.delete(first.removeprefix(f"s3://{tasks.server.bucket}/"))
    before = objects_of(tasks.server)
    parameters = handed_over(table, config_of(tasks.server))
    said = refusal(tasks.execute(task(PURGE, "holed", **parameters)), 502, "STORAGE_FAILED")
    assert f"the manifest '{first}' is missing" in said
    assert objects_of(tasks.server) == before
    skipping = {"missing_manifests": "skip", "skipTrash": "true"}
    tasks.execute(task(PURGE, "holed", **parameters, properties=skipping))
    left = below(objects_of(tasks.server), "eu/holed")
    assert left.keys() == {f"eu/holed/data/000-{number:03}.parquet" for number in range(2)}


def test_the_catalogs_entry_is_dropped_in_the_end_where_that_is_wanted(tasks: SparkTasks) -> None:
    make(tasks.writer, "dropped", snapshots=1)
    payload = task(PURGE, "dropped", properties={"drop_catalog_entry": "true"})
    assert counted(tasks.execute(payload))[0] > 4
    assert not tasks.writer.table_exists("eu.dropped")
    assert below(objects_of(tasks.server, "warehouse"), "eu/dropped") == {}


def test_an_entry_of_a_catalog_that_is_not_known_cannot_be_dropped(
    tasks: SparkTasks, catalog: SqlCatalog
) -> None:
    table = make(catalog, "kept", snapshots=1)
    before = objects_of(tasks.server)
    parameters = handed_over(table, config_of(tasks.server))
    payload = task(PURGE, "kept", **parameters, properties={"drop_catalog_entry": "true"})
    assert "drop_catalog_entry" in refusal(tasks.execute(payload), 400, "INVALID_PAYLOAD")
    assert objects_of(tasks.server) == before


def test_files_that_may_be_another_tables_are_not_deleted(
    tasks: SparkTasks, catalog: SqlCatalog
) -> None:
    table = make(catalog, "shared", snapshots=1, properties={"gc.enabled": "false"})
    before = objects_of(tasks.server)
    payload = task(PURGE, "shared", **handed_over(table, config_of(tasks.server)))
    assert "gc.enabled is false" in refusal(tasks.execute(payload), 400, "INVALID_PAYLOAD")
    assert objects_of(tasks.server) == before


def test_a_table_that_was_created_anew_is_not_the_one_to_purge(tasks: SparkTasks) -> None:
    table = make(tasks.writer, "anew", snapshots=1)
    before = objects_of(tasks.server, "warehouse")
    payload = task(PURGE, "anew", **(handed_over(table, {}) | {"catalog": CATALOG}))
    payload["operation_parameters"]["metadata"]["table-uuid"] = "00000000-0000-4000-8000-000000000000"
    answer = tasks.execute(payload)
    assert "was dropped" in refusal(answer, 400, "INVALID_PAYLOAD")
    assert objects_of(tasks.server, "warehouse") == before


def test_a_table_that_its_catalog_dropped_first_is_purged(
    tasks: SparkTasks, catalog: SqlCatalog
) -> None:
    table = make(catalog, "handed_over", snapshots=2)
    ours = below(objects_of(tasks.server), "eu/handed_over")
    parameters = handed_over(table, config_of(tasks.server)) | {"catalog": CATALOG}
    answer = tasks.execute(task(PURGE, "handed_over", **parameters))
    assert counted(answer) == (len(ours), sum(ours.values()))
    assert below(objects_of(tasks.server), "eu/handed_over") == {}


def test_a_former_table_is_purged_unless_the_one_with_its_name_uses_its_files(
    tasks: SparkTasks, catalog: SqlCatalog
) -> None:
    former, new = make(catalog, "reused", snapshots=2), make(tasks.writer, "reused", snapshots=2)
    parameters = handed_over(former, config_of(tasks.server)) | {"catalog": CATALOG}
    ours = below(objects_of(tasks.server), "eu/reused")
    name_files(new, [next(iter(former.scan().plan_files())).file.file_path.replace("s3:", "s3a:")])
    said = refusal(tasks.execute(task(PURGE, "reused", **parameters)), 400, "INVALID_PAYLOAD")
    assert "uses 1 of its files" in said
    assert below(objects_of(tasks.server), "eu/reused") == ours
    tasks.writer.drop_table("eu.reused")
    kept = make(tasks.writer, "reused", snapshots=1)
    answer = tasks.execute(task(PURGE, "reused", **parameters))
    assert counted(answer) == (len(ours), sum(ours.values()))
    assert below(objects_of(tasks.server), "eu/reused") == {}
    assert len(kept.scan().to_arrow()) == 16


def test_a_table_that_was_changed_since_it_was_handed_over_is_purged(tasks: SparkTasks) -> None:
    table = make(tasks.writer, "changed", snapshots=1)
    meant = {"metadata_location": table.metadata_location}
    with table.transaction() as transaction:
        transaction.set_properties({"changed": "since"})
    ours = below(objects_of(tasks.server, "warehouse"), "eu/changed")
    answer = tasks.execute(task(PURGE, "changed", **meant))
    assert counted(answer) == (len(ours), sum(ours.values()))


def test_a_lost_metadata_file_is_no_purged_table(tasks: SparkTasks, catalog: SqlCatalog) -> None:
    table = make(catalog, "lost", snapshots=1)
    tasks.server.delete(table.metadata_location.removeprefix(f"s3://{tasks.server.bucket}/"))
    payload = task(PURGE, "lost", **handed_over(table, config_of(tasks.server)))
    said = refusal(tasks.execute(payload), 400, "INVALID_PAYLOAD")
    assert "does not exist, but others do" in said


@pytest.mark.parametrize("table", ["never-created", "no-credentials"])
def test_a_table_without_credentials_is_a_502(
    tasks: SparkTasks, catalog: SqlCatalog, table: str
) -> None:
    parameters: dict[str, Any] = {}
    if table == "no-credentials":
        parameters = handed_over(make(catalog, table, snapshots=1), {})
    refusal(tasks.execute(task(PURGE, table, **parameters)), 502, "CREDENTIAL_VENDING_FAILED")


def test_an_empty_table_is_purged(tasks: SparkTasks) -> None:
    make(tasks.writer, "empty", snapshots=0)
    ours = below(objects_of(tasks.server, "warehouse"), "eu/empty")
    assert counted(tasks.execute(task(PURGE, "empty"))) == (len(ours), sum(ours.values()))
    assert below(objects_of(tasks.server, "warehouse"), "eu/empty") == {}


def test_credentials_that_end_meanwhile_are_renewed(tasks_on: TaskEngine, tmp_path: Path) -> None:
    """Credentials are renewed at half of their lifetime, which is less than the startup of Spark."""
    with spark_tasks(tasks_on, tmp_path, session_seconds=20, **SOON) as tasks:
        make(tasks.writer, "short", snapshots=1, files=2)
        answer = tasks.execute(task(PURGE, "short"))
        assert counted(answer)[0] > 5
        assert below(objects_of(tasks.server, "warehouse"), "eu/short") == {}
        assert tasks.record(answer.json()["delegation_task_id"])["attempt_count"] == 1
