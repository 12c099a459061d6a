"""Fixtures with a stand-in on loopback, because no package registry contains a Unity Catalog."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.servers.unity_catalog.unity import UnityServer
from sluicegate_unity.catalog import UnityCatalog
from sluicegate_unity.config import UnityConfig

__all__ = ["no_secret_leaks"]

Connected = Callable[..., UnityCatalog]


@pytest.fixture
def unity() -> Iterator[UnityServer]:
    with UnityServer.start() as server:
        yield server


@pytest_asyncio.fixture
async def connected(unity: UnityServer) -> AsyncIterator[Connected]:
    """Creates and closes catalogs of the stand-in, by default of its catalog `main`."""
    made: list[UnityCatalog] = []

    def connected(**settings: Any) -> UnityCatalog:
        config = UnityConfig.model_validate({"uri": unity.uri, "catalog": "main", **settings})
        made.append(UnityCatalog.configured(config, FakeContext("lake")))
        return made[-1]

    yield connected
    for catalog in made:
        await catalog.aclose()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry immediately: the pauses of the client are random, up to a maximum."""
    monkeypatch.setattr(random, "uniform", lambda shortest, _: shortest)
