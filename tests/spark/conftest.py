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
from support.tasks.spark_tasks import SparkTasks
from support.tasks.spark_tasks import spark_tasks as running_spark_tasks

from sluicegate.testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    """Spark's `toArrow` leaves the socket that it reads from to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a module on one worker, which makes its servers and tables once."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    require_spark()
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


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
def spark_tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTasks]:
    """The delegation service with Spark. Its tests are in the xdist group `spark_tasks`."""
    require_spark()
    with running_spark_tasks(tmp_path_factory.mktemp("spark_tasks")) as running:
        yield running


@pytest.fixture(scope="module")
def tables(
    spark_tasks: SparkTasks, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[IcebergTables]:
    """Iceberg tables that tasks maintain, and a gateway that shares them."""
    server, folder = spark_tasks.server, tmp_path_factory.mktemp("gateway")
    with gateway_of(folder, server, server.iceberg_uri) as (_, recipient):
        yield IcebergTables.of(spark_tasks, spark, recipient)
