from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from sluicegate.api import Catalog
from sluicegate.testing.catalog import CatalogBehaviour, Expected
from sluicegate.testing.fakes import FakeContext
from sluicegate.testing.servers.polaris import Polaris
from sluicegate_iceberg.catalog import IcebergCatalog
from sluicegate_iceberg.config import IcebergConfig

NAMES = {
    ("eu",): ["orders", "two words", "größe", "100%25", "v1.2", "a/b"],
    ("eu", "north"): ["orders"],
    ("eu.north",): ["orders"],
    ("100%",): ["orders"],
}
SCHEMAS = {"eu": ("eu",), "eu.north": ("eu", "north"), "eu%2Enorth": ("eu.north",), "100%25": ("100%",)}


class TestPolaris(CatalogBehaviour):
    """Names of every kind, page after page, some of them Delta tables."""

    @pytest.fixture
    def polaris(self) -> Iterator[Polaris]:
        with Polaris.start() as server:
            server.page_size = 2
            for number, (namespace, names) in enumerate(NAMES.items()):
                for name in names:
                    server.add(namespace, name, f"s3://lake/{number}/{name}")
            server.add_generic(("eu",), "clicks", "delta", "s3://lake/delta/clicks/")
            server.add_generic(("eu",), "images", "lance", "s3://lake/lance/images")
            yield server

    @pytest.fixture
    def expected(self, polaris: Polaris) -> Expected:
        tables = {
            schema: {name: polaris.tables[namespace, name] for name in NAMES[namespace]}
            for schema, namespace in SCHEMAS.items()
        }
        tables["eu"]["clicks"] = "s3://lake/delta/clicks"
        return tables

    @pytest.fixture
    def catalog(self, polaris: Polaris) -> Catalog:
        oauth2 = {
            "client_id": polaris.client_id,
            "client_secret": polaris.client_secret,
            "scope": polaris.scope,
        }
        config = {"uri": polaris.uri, "warehouse": polaris.warehouse, "oauth2": oauth2}
        return IcebergCatalog.configured(IcebergConfig.model_validate(config), FakeContext())

    @pytest.fixture
    def secrets(self, polaris: Polaris) -> Sequence[str]:
        return [polaris.client_secret]
