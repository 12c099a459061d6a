from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.servers.polaris import Polaris

__all__ = ["no_secret_leaks"]

Connect = Callable[..., IcebergCatalog]


class Clock:
    """A clock that advances only when a test calls it to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def polaris() -> Iterator[Polaris]:
    """Return a catalog with two nested namespaces, and a table in each."""
    with Polaris.start() as catalog:
        catalog.add(("ns0",), "t0", "s3://lake/wh/ns0/t0")
        catalog.add(("ns0", "deep"), "t1", "s3://lake/wh/ns0/deep/t1")
        yield catalog


@pytest_asyncio.fixture
async def connect(polaris: Polaris) -> AsyncIterator[Connect]:
    """Return a function that creates catalogs of the server: `connect(**settings)`."""
    connected: list[IcebergCatalog] = []

    def build(**settings: Any) -> IcebergCatalog:
        catalog = IcebergCatalog.configured(section(polaris, **settings), FakeContext("lake"))
        connected.append(catalog)
        return catalog

    yield build
    for catalog in connected:
        await catalog.aclose()


def section(polaris: Polaris, **settings: Any) -> IcebergConfig:
    """Return the configuration of a client of the server."""
    oauth2 = {
        "client_id": polaris.client_id,
        "client_secret": polaris.client_secret,
        "scope": polaris.scope,
    }
    given = {"uri": polaris.uri, "warehouse": polaris.warehouse, "oauth2": oauth2}
    return IcebergConfig.model_validate(given | settings)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry immediately: the pauses of the client are random, up to a maximum."""
    monkeypatch.setattr(random, "uniform", lambda shortest, _: shortest)
