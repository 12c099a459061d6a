from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from sluicegate.api import AuthorizedClient, HttpClient
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.rest.client import IcebergClient
from sluicegate_iceberg.rest.requests import Rest
from sluicegate_iceberg.vendor import Delegation
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.engine import Engine, TaskSession
from sluicegate_spark.tables import TaskCatalog
from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.servers.committing_catalog import CommittingCatalog, committing_catalog

from .spark_requirements import SETTINGS

__all__ = ["no_secret_leaks"]


def pytest_configure(config: pytest.Config) -> None:
    """Declare markers, and ignore sockets that PySpark leaves to the garbage collector."""
    config.addinivalue_line("markers", "jvm: starts Spark, and so needs a JDK 17")
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture
def catalog() -> Iterator[CommittingCatalog]:
    """A catalog that loses requests and responses."""
    with committing_catalog() as running:
        yield running


@pytest_asyncio.fixture
async def task_catalog(catalog: CommittingCatalog) -> AsyncIterator[TaskCatalog]:
    """The executor's client of that catalog."""
    http = HttpClient(timeout=5, connections=2, longest=100_000, pauses=(0.0,))
    rest = Rest("lake", AuthorizedClient(http, None), {})
    config = IcebergConfig.model_validate({"uri": catalog.uri})
    client = IcebergClient(rest, config, pauses=(0.0, 0.0, 0.0))
    yield TaskCatalog("lake", config, client, Delegation(client))
    await http.aclose()


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[TaskSession]:
    """A session of a small Spark in this process."""
    conf = SETTINGS | {"spark.local.dir": str(tmp_path)}
    engine = Engine(SparkConfig.model_validate({"master": "local[2]", "conf": conf}))
    async with engine.session("t-1", {}) as opened:
        yield opened
    await engine.aclose()
