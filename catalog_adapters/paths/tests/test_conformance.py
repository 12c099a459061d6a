from __future__ import annotations

from collections.abc import Mapping

import anyio
import pytest

from sluicegate.api import Catalog, Storage
from sluicegate_paths.catalog import PathsCatalog
from sluicegate_paths.config import PathsConfig
from sluicegate_testing.catalog import CatalogBehaviour, Expected, ExpectedTable
from sluicegate_testing.fakes import FakeContext, MemoryStorage
from sluicegate_testing.servers.failing import failing_store

LAKE = "memory://lake/"
LOG = "_delta_log/00000000000000000000.json"
ICEBERG = "visits"
NAMES = {"eu": ["orders", "two words", "größe", "100%25"], "us": ["orders"]}


def over(storage: Storage) -> PathsCatalog:
    config = PathsConfig(schemas={schema: f"memory://lake/{schema}/" for schema in NAMES})
    return PathsCatalog(config, FakeContext(storage=[storage]))


class TestPaths(CatalogBehaviour):
    page_size = None

    @pytest.fixture
    def expected(self) -> Expected:
        tables: dict[str, dict[str, str | ExpectedTable]] = {
            schema: {name: f"{LAKE}{schema}/{name}" for name in names}
            for schema, names in NAMES.items()
        }
        visits = f"{LAKE}us/{ICEBERG}"
        tables["us"][ICEBERG] = ExpectedTable(visits, "iceberg", f"{visits}/metadata/v7.metadata.json")
        return tables

    @pytest.fixture
    def catalog(self) -> Catalog:
        storage = MemoryStorage(LAKE)
        files = [f"{schema}/{name}/{LOG}" for schema, names in NAMES.items() for name in names]
        for file in [*files, f"us/{ICEBERG}/metadata/v7.metadata.json"]:
            anyio.run(storage.put, f"{LAKE}{file}", b"{}")
        return over(storage)

    @pytest.fixture
    def failing(self, failing_servers: Mapping[str, str]) -> Mapping[str, Catalog]:
        return {
            how: over(MemoryStorage(LAKE, store=failing_store(url)))
            for how, url in failing_servers.items()
        }

    @pytest.fixture
    def missing(self) -> str:
        # Every location can be a table. Whether it is one is known when its log is read.
        return "no_such_table"
