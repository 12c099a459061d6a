from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from spark.iceberg_readers import IcebergReaders
from spark.maintained_tables import IcebergTables
from support.gateways.iceberg_rest import WAREHOUSE, gateway_of
from support.gateways.shared_lake import SharedLake, shared_lake
from support.process.spark import require_spark, spark_session
from support.servers.iceberg_java import gateway_with_storage, java_catalog, store_properties, writer_of
from support.servers.task_engine import SharedSpark, TaskEngine, chosen_engine, shared_spark_on
from support.tasks.spark_tasks import SparkTasks
from support.tasks.spark_tasks import spark_tasks as running_spark_tasks

from sluicegate_testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_FOLLOWING = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Spark's `toArrow` leaves the socket that it reads from to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
    config.addinivalue_line("markers", "shared_spark: has the fixture of this name; set automatically")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a module on one worker, which makes its servers and tables once.

    If an engine is chosen, tests that do not follow this choice are left out.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        if "shared_spark" in _fixtures(item):
            item.add_marker("shared_spark")
    if chosen_engine() != "local":
        left_out = [item for item in items if "tasks_on" not in _fixtures(item)]
        items[:] = [item for item in items if "tasks_on" in _fixtures(item)]
        config.hook.pytest_deselected(items=left_out)
        config.stash[_FOLLOWING] = bool(items)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Accept that one of the two runs on an engine has no tests if only some modules are named."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash.get(_FOLLOWING, False):
        session.exitstatus = pytest.ExitCode.OK


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    require_spark()
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def tasks_on() -> TaskEngine:
    """Where tasks run. Other tests are left out if an engine is chosen."""
    require_spark()
    return chosen_engine()


@pytest.fixture(scope="session")
def shared_spark(
    tasks_on: TaskEngine, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedSpark]:
    """The Spark of this process, which tests use beside the tasks of executors in this process.

    On other engines than `local`, tests with the fixture `spark` need another process.
    """
    if tasks_on == "local":
        yield SharedSpark.of_this_machine(request.getfixturevalue("spark"))
    else:
        with shared_spark_on(tasks_on, tmp_path_factory.mktemp("shared")) as running:
            yield running


@pytest.fixture(scope="session")
def iceberg_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """A store of Iceberg tables with a dedicated catalog."""
    require_spark()
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs"), warehouse=WAREHOUSE) as running:
        yield running


@pytest.fixture(scope="session")
def full(
    spark: SparkSession, iceberg_server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IcebergReaders]:
    """Iceberg's own catalog, which accepts tables of every kind."""
    folder = tmp_path_factory.mktemp("full")
    with (
        java_catalog(folder, iceberg_server) as uri,
        gateway_with_storage(folder, iceberg_server, uri) as (gateway, recipient),
    ):
        direct = {"type": "rest", **store_properties(iceberg_server), "uri": uri}
        yield IcebergReaders.of(spark, writer_of(uri, iceberg_server), direct, gateway, recipient)
        assert "Traceback" not in gateway.log


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    with shared_lake(tmp_path_factory.mktemp("lake"), tables=100) as running:
        yield running


@pytest.fixture(scope="session")
def spark_tasks(tasks_on: TaskEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTasks]:
    """The delegation service with Spark. Its tests are in the xdist group `spark_tasks`."""
    with running_spark_tasks(tasks_on, tmp_path_factory.mktemp("spark_tasks")) as running:
        yield running


@pytest.fixture(scope="module")
def tables(
    spark_tasks: SparkTasks, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IcebergTables]:
    """Iceberg tables that tasks maintain, and a gateway that shares them."""
    server, folder = spark_tasks.server, tmp_path_factory.mktemp("gateway")
    with gateway_of(folder, server, server.iceberg_uri) as (_, recipient):
        yield IcebergTables.of(spark_tasks, spark, recipient)
