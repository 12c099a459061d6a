"""The fakes pass the suites, so a plugin's tests stand on the same ground as the gateway."""

from collections.abc import Sequence

import obstore
import pytest

from sluicegate.api import Catalog, CatalogTable, Storage
from sluicegate_testing.catalog import CatalogBehaviour, Expected
from sluicegate_testing.fakes import FakeLinks, MemoryCatalog, MemoryStorage
from sluicegate_testing.storage import Get, Put, StorageBehaviour

PREFIX = "memory://lake/warehouse/"
EXPECTED = {
    "eu": {"größe": "memory://lake/eu/größe", "two words": "memory://lake/eu/two words"},
    "us": {"orders": "memory://lake/us/orders"},
}


class TestMemoryStorage(StorageBehaviour):
    can_fail = False

    @pytest.fixture
    def links(self) -> FakeLinks:
        return FakeLinks(PREFIX)

    @pytest.fixture
    def storage(self, links: FakeLinks) -> Storage:
        return MemoryStorage(PREFIX, links)

    @pytest.fixture
    def put(self, storage: MemoryStorage) -> Put:
        return storage.put

    @pytest.fixture
    def get(self, storage: MemoryStorage, links: FakeLinks) -> Get:
        async def read(url: str) -> bytes:
            opened = await storage.open(links.location_of(url))
            answer = await obstore.get_async(opened.store, opened.key(""))
            return bytes(await answer.bytes_async())

        return read


class TestMemoryCatalog(CatalogBehaviour):
    can_fail = False
    page_size = None

    @pytest.fixture
    def catalog(self) -> Catalog:
        return MemoryCatalog(
            {
                schema: {
                    name: CatalogTable(f"id of {schema}.{name}", "delta", location)
                    for name, location in tables.items()
                }
                for schema, tables in EXPECTED.items()
            }
        )

    @pytest.fixture
    def expected(self) -> Expected:
        return EXPECTED

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return ["hunter2"]
