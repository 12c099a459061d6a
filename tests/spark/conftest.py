from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from spark.iceberg_doors import Doors
from support.iceberg_java import gateway_with_storage, java_catalog, store_properties, writer_of
from support.iceberg_rest import WAREHOUSE
from support.shared_lake import SharedLake, shared_lake
from support.spark import require_spark, spark_session
from support.spark_tasks import SparkTasks
from support.spark_tasks import spark_tasks as running_spark_tasks

from sluicegate.testing.servers.seaweedfs import SeaweedFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    """Spark's `toArrow` leaves the socket that it reads from to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    require_spark()
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def iceberg_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """A store of Iceberg tables, with a catalog of its own."""
    require_spark()
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs"), warehouse=WAREHOUSE) as running:
        yield running


@pytest.fixture(scope="session")
def full(
    spark: SparkSession, iceberg_server: SeaweedFS, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Doors]:
    """Iceberg's own catalog, which takes tables of every kind."""
    folder = tmp_path_factory.mktemp("full")
    with (
        java_catalog(folder, iceberg_server) as uri,
        gateway_with_storage(folder, iceberg_server, uri) as (gateway, recipient),
    ):
        direct = {"type": "rest", **store_properties(iceberg_server), "uri": uri}
        yield Doors.of(spark, writer_of(uri, iceberg_server), direct, gateway, recipient)
        assert "Traceback" not in gateway.log


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    with shared_lake(tmp_path_factory.mktemp("lake"), tables=100) as running:
        yield running


@pytest.fixture(scope="session")
def spark_tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkTasks]:
    """The delegation service with Spark; who uses it is in the xdist group `spark_tasks`."""
    require_spark()
    with running_spark_tasks(tmp_path_factory.mktemp("spark_tasks")) as running:
        yield running
