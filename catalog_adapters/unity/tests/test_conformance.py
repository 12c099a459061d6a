from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sluicegate.api import Catalog
from sluicegate_testing.catalog import CatalogBehaviour, Expected
from sluicegate_testing.servers.unity_catalog.unity import UnityServer, table_info

from .conftest import Connected

SECRET = "service-token"


class Behaviour(CatalogBehaviour):
    can_hold_any_name = False
    page_size = None

    @pytest.fixture
    def failing(
        self, connected: Connected, failing_servers: Mapping[str, str]
    ) -> Mapping[str, Catalog]:
        return {how: connected(uri=url, token=SECRET) for how, url in failing_servers.items()}

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
