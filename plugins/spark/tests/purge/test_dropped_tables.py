"""Purges of tables that the configured catalog has dropped, or that a writer changes meanwhile.

Source: Polaris delegation proposal, "Order Of Deletion".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import obstore
import pytest
import pytest_asyncio
from pyiceberg.table import Table

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskFailed, TaskResult
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.executor import SparkExecutor
from sluicegate_spark.purge import TABLE_PURGE
from sluicegate_testing.executors import RecordedRun
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from ..lake import CATALOG, ROWS, WAREHOUSE, make_table, written_by
from .local_waves import LocalEngine, purge_in_process

GRANT = RealmGrant(operations=None, catalogs=frozenset({CATALOG}), locations=(f"s3://{WAREHOUSE}/eu/",))
ELSEWHERE = replace(GRANT, locations=(f"s3://{WAREHOUSE}/us/",))
DROPS = {"drop_catalog_entry": "true"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    folder = tmp_path_factory.mktemp("seaweedfs")
    with SeaweedFS.start(folder, warehouse=WAREHOUSE) as running:
        written_by(running).create_namespace_if_not_exists("eu")
        yield running


@pytest_asyncio.fixture
async def executor(server: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SparkExecutor]:
    """An executor with the catalog, and without Spark."""
    purge_in_process(monkeypatch)
    oauth2 = {
        "client_id": server.admin.access_key_id,
        "client_secret": server.admin.secret_access_key,
    }
    lake = {"uri": server.iceberg_uri, "warehouse": WAREHOUSE, "oauth2": oauth2}
    section = {"catalogs": {CATALOG: lake}, "endpoints": ["127.0.0.1"]}
    made = SparkExecutor(SparkConfig.model_validate(section))
    monkeypatch.setattr(made, "_engine", LocalEngine())
    yield made
    await made.aclose()


@dataclass
class WrittenRun(RecordedRun):
    """A run during which a writer, who has loaded the table before, commits once."""

    table: Table | None = None
    after: str = "content"

    async def finish_stage(self, stage: str) -> None:
        """Commit after the chosen stage."""
        await super().finish_stage(stage)
        if self.table is not None and stage.startswith(f"{self.after} of"):
            if self.after == "content":
                self.table.append(ROWS)
            else:  # without reading a manifest list, which is deleted
                with self.table.transaction() as transaction:
                    transaction.set_properties({"changed": "meanwhile"})
            self.table = None


def table_of(server: SeaweedFS, name: str) -> Table:
    make_table(server, name)
    table: Table = written_by(server).load_table(f"eu.{name}")
    return table


def files_of(server: SeaweedFS, table: Table) -> set[str]:
    folder = table.location().removeprefix(f"s3://{WAREHOUSE}/")
    listing = obstore.list(server.store(bucket=WAREHOUSE), folder).collect()
    return {str(each["path"]) for each in listing}


def payload(server: SeaweedFS, name: str, table: Table | None, **changed: Any) -> DelegatedTask:
    """Return a purge of a name, with the files of a table, as the catalog that dropped it sends it."""
    identity = TableIdentity("7", CATALOG, ("eu",), name)
    task = DelegatedTask(name, TABLE_PURGE, "prod", identity, grant=GRANT)
    if table is not None:
        metadata = {"table-uuid": str(table.metadata.table_uuid), "location": table.location()}
        config = {
            "s3.endpoint": server.endpoint,
            "s3.region": server.region,
            "s3.path-style-access": "true",
            "s3.access-key-id": server.admin.access_key_id,
            "s3.secret-access-key": server.admin.secret_access_key,
        }
        task = replace(
            task, metadata_location=table.metadata_location, metadata=metadata, config=config
        )
    return replace(task, **changed)


async def ran(executor: SparkExecutor, task: DelegatedTask, run: RecordedRun) -> TaskResult:
    """Run an attempt with the stages of earlier ones."""
    task, run.renewed = replace(task, stages=tuple(run.stages)), task.config
    return await executor.run(task, await executor.acquire(task), run)


@pytest.mark.parametrize("properties", [{}, DROPS])
async def test_a_table_that_its_catalog_dropped_first_is_purged_by_the_payload(
    server: SeaweedFS, executor: SparkExecutor, properties: dict[str, str]
) -> None:
    table = table_of(server, f"handed_over{len(properties)}")
    files = files_of(server, table)
    task = payload(server, "gone", table, properties=properties)
    result = await ran(executor, task, RecordedRun())
    assert result.files_deleted == len(files) > 10
    assert files_of(server, table) == set()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"grant": ELSEWHERE}, "NOT_GRANTED"),
        ({"grant": replace(GRANT, locations=None)}, "NOT_GRANTED"),
        ({"config": {}}, "CREDENTIAL_VENDING_FAILED"),
        ({"metadata": None, "metadata_location": None}, "CREDENTIAL_VENDING_FAILED"),
        ({"operation": "TABLE_COMPACTION"}, "CREDENTIAL_VENDING_FAILED"),
    ],
    ids=["elsewhere", "only-of-catalogs", "no-credentials", "no-location", "not-a-purge"],
)
async def test_the_payload_of_a_dropped_table_opens_only_granted_locations(
    server: SeaweedFS, executor: SparkExecutor, changed: dict[str, Any], code: str
) -> None:
    table = written_by(server).create_table_if_not_exists("eu.kept", ROWS.schema)
    with pytest.raises(TaskFailed) as failed:
        await executor.acquire(payload(server, "gone", table, **changed))
    assert failed.value.error_code == code
    assert not failed.value.retryable


async def test_a_purge_of_a_dropped_table_continues(server: SeaweedFS, executor: SparkExecutor) -> None:
    table = table_of(server, "continued")
    run = RecordedRun(stop_at="stage")
    with run.scope:
        await ran(executor, payload(server, "gone", table), run)
    assert len(run.stages) == 1
    await ran(executor, payload(server, "gone", table), RecordedRun(run.stages))
    assert files_of(server, table) == set()


async def test_a_purge_that_began_before_its_table_was_dropped_ends_with_the_later_metadata(
    server: SeaweedFS, executor: SparkExecutor
) -> None:
    """The payload names an earlier metadata file than the one from which the first attempt started."""
    table = table_of(server, "later")
    begun = f"content of {table.metadata_location.rpartition('/')[2]} of {table.metadata.table_uuid}"
    earlier = table.metadata.metadata_log[0].metadata_file
    task = payload(server, "gone", table, metadata_location=earlier)
    data = {path for path in files_of(server, table) if "/data/" in path}
    await ran(executor, task, RecordedRun([begun]))
    assert files_of(server, table) == data  # the first attempt deleted them


async def test_a_name_that_was_used_again_keeps_its_new_table(
    server: SeaweedFS, executor: SparkExecutor
) -> None:
    former, new = table_of(server, "former"), table_of(server, "reused")
    kept, doomed = files_of(server, new), files_of(server, former)
    result = await ran(executor, payload(server, "reused", former, properties=DROPS), RecordedRun())
    assert (result.files_deleted, files_of(server, former)) == (len(doomed), set())
    assert files_of(server, new) == kept
    assert len(written_by(server).load_table("eu.reused").scan().to_arrow()) == 12


async def test_a_purge_of_a_former_table_continues(server: SeaweedFS, executor: SparkExecutor) -> None:
    former, new = table_of(server, "interrupted"), table_of(server, "recreated")
    kept, run = files_of(server, new), RecordedRun(stop_at="stage")
    with run.scope:
        await ran(executor, payload(server, "recreated", former), run)
    await ran(executor, payload(server, "recreated", former), RecordedRun(run.stages))
    assert (files_of(server, former), files_of(server, new)) == (set(), kept)


async def test_files_that_the_new_table_uses_are_not_deleted(
    server: SeaweedFS, executor: SparkExecutor
) -> None:
    former, new = table_of(server, "imported"), table_of(server, "importing")
    imported = next(iter(former.scan().plan_files())).file
    with new.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(imported)
    before = files_of(server, former)
    with pytest.raises(TaskFailed, match="uses 1 of its files") as failed:
        await ran(executor, payload(server, "importing", former), RecordedRun())
    assert (failed.value.error_code, failed.value.retryable) == ("INVALID_PAYLOAD", False)
    assert files_of(server, former) == before


async def test_the_metadata_of_the_new_table_identifies_no_former_one(
    server: SeaweedFS, executor: SparkExecutor
) -> None:
    new = table_of(server, "renewed")
    task = payload(server, "renewed", new, metadata={"table-uuid": "other", "location": new.location()})
    before = files_of(server, new)
    with pytest.raises(TaskFailed, match="another one with its name was created"):
        await ran(executor, task, RecordedRun())
    assert files_of(server, new) == before


@pytest.mark.parametrize("after", ["content", "manifest-lists", "old-metadata"])
async def test_a_purge_during_which_a_writer_commits_is_not_finished(
    server: SeaweedFS, executor: SparkExecutor, after: str
) -> None:
    table = table_of(server, f"written_after_{after.replace('-', '_')}")
    run = WrittenRun(table=table, after=after)
    task = payload(server, table.name()[-1], None, properties=DROPS)
    with pytest.raises(TaskFailed, match="a writer changed the table") as failed:
        await ran(executor, task, run)
    assert (failed.value.error_code, failed.value.retryable) == ("STORAGE_FAILED", True)
    await ran(executor, task, run)
    assert files_of(server, table) == set()
    assert not written_by(server).table_exists(table.name())
