from __future__ import annotations

from collections.abc import Sequence

import pytest

from sluicegate.api import Catalog
from sluicegate.testing.catalog import CatalogBehaviour, Expected
from sluicegate.testing.servers.unity import UnityServer, table_info

from .conftest import Connected

SECRET = "service-token"


class Behaviour(CatalogBehaviour):
    can_hold_any_name = False

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return [SECRET]

    @pytest.fixture
    def filled(self, unity: UnityServer) -> UnityServer:
        for number, name in enumerate(("eu.orders", "eu.Visits-2", "us.orders", "us.a@b")):
            info = table_info(f"main.{name}", f"file:///lake/{name.replace('.', '/')}/", number)
            unity.state.add(info)
        unity.state.tokens = {SECRET}
        return unity


class TestOneCatalog(Behaviour):
    @pytest.fixture
    def expected(self) -> Expected:
        return {
            "eu": {"orders": "file:///lake/eu/orders", "Visits-2": "file:///lake/eu/Visits-2"},
            "us": {"orders": "file:///lake/us/orders", "a@b": "file:///lake/us/a@b"},
        }

    @pytest.fixture
    def catalog(self, filled: UnityServer, connected: Connected) -> Catalog:
        return connected(token=SECRET)


class TestAllCatalogs(Behaviour):
    @pytest.fixture
    def expected(self) -> Expected:
        return {
            "main.eu": {"orders": "file:///lake/eu/orders", "Visits-2": "file:///lake/eu/Visits-2"},
            "main.us": {"orders": "file:///lake/us/orders", "a@b": "file:///lake/us/a@b"},
        }

    @pytest.fixture
    def catalog(self, filled: UnityServer, connected: Connected) -> Catalog:
        return connected(catalog=None, token=SECRET)
