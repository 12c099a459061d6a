from __future__ import annotations

import anyio
import pytest

from sluicegate.api import Catalog
from sluicegate.testing.catalog import CatalogBehaviour, Expected
from sluicegate.testing.fakes import FakeContext, MemoryStorage
from sluicegate_paths.catalog import PathsCatalog
from sluicegate_paths.config import PathsConfig

NAMES = {"eu": ["orders", "two words", "größe", "100%25"], "us": ["orders"]}


class TestPaths(CatalogBehaviour):
    @pytest.fixture
    def expected(self) -> Expected:
        return {
            schema: {name: f"memory://lake/{schema}/{name}" for name in names}
            for schema, names in NAMES.items()
        }

    @pytest.fixture
    def catalog(self, expected: Expected) -> Catalog:
        storage = MemoryStorage("memory://lake/")
        for tables in expected.values():
            for location in tables.values():
                anyio.run(storage.put, f"{location}/_delta_log/00000000000000000000.json", b"{}")
        config = PathsConfig(schemas={schema: f"memory://lake/{schema}/" for schema in expected})
        return PathsCatalog(config, FakeContext(storage=[storage]))

    @pytest.fixture
    def missing(self) -> str:
        # Every location may be a table: whether it is one, the reader of its log tells.
        return "no_such_table"
