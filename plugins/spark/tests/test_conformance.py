from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from sluicegate.api import DelegatedTask, RealmGrant, TableIdentity, TaskExecutor
from sluicegate_spark.plugin import sluicegate_register_task_executors
from sluicegate_testing.executors import TaskExecutorBehaviour
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from .lake import CATALOG, WAREHOUSE, executor_for, make_table, written_by
from .spark_requirements import require_jars

GRANT = RealmGrant(operations=None, catalogs=frozenset({CATALOG}), locations=(f"s3://{WAREHOUSE}/eu/",))

# One worker of the run has the store, and with it a JVM.
pytestmark = pytest.mark.xdist_group("spark_executor")


def test_the_plugin_registers_one_executor_with_operations_of_its_own() -> None:
    (kind,) = sluicegate_register_task_executors()
    assert kind.name == "spark"
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", operation) for operation in kind.operations)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    require_jars()
    folder = tmp_path_factory.mktemp("seaweedfs")
    with SeaweedFS.start(folder, warehouse=WAREHOUSE) as running:
        written_by(running).create_namespace_if_not_exists("eu")
        yield running


def task_for(server: SeaweedFS, operation: str) -> DelegatedTask:
    """Return a task for a new table."""
    name = f"t{uuid4().hex}"
    make_table(server, name)
    table = TableIdentity("7", CATALOG, ("eu",), name)
    return DelegatedTask(name, operation, "prod", table, grant=GRANT)


@pytest.mark.jvm
class OnSpark(TaskExecutorBehaviour):
    @pytest.fixture
    def executor(self, server: SeaweedFS, tmp_path: Path) -> TaskExecutor:
        """Spark starts with the first task of each test, and stops with its executor."""
        return executor_for(server, tmp_path)


class TestPurge(OnSpark):
    @pytest.fixture
    def task(self, server: SeaweedFS) -> DelegatedTask:
        return task_for(server, "TABLE_PURGE")

    @pytest.fixture
    def wrong_task(self, task: DelegatedTask) -> DelegatedTask:
        return replace(task, properties={"missing_manifests": "guess"})


class TestCompaction(OnSpark):
    @pytest.fixture
    def task(self, server: SeaweedFS) -> DelegatedTask:
        return replace(task_for(server, "TABLE_COMPACTION"), properties={"min-input-files": "2"})

    @pytest.fixture
    def wrong_task(self, task: DelegatedTask) -> DelegatedTask:
        return replace(task, properties={"min-input-files": "few"})
