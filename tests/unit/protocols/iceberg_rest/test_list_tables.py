"""Which tables a listing shows, and when they are read for it."""

from __future__ import annotations

import asyncio

import pytest
from support.gateways.iceberg_in_memory import IcebergInMemory, shared
from support.gateways.memory_grants import ACME

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.api import CatalogTable, Principal, SharedTable, Unavailable
from sluicegate.protocols.iceberg_rest import list_tables
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable
from sluicegate.protocols.iceberg_rest.list_tables import TableListing

ORDERS, BY_URL, PLAIN = shared("orders"), shared("by_url", access_modes=("url",)), shared("plain")
PRIVATE = shared("plain", access_modes=("dir",))


class Reads:
    """Stands in for reading tables."""

    def __init__(self) -> None:
        self.failures: dict[str, Exception] = {}
        self.asked: list[str] = []
        self.hang = asyncio.Event()
        self.hang.set()

    async def check(self, principal: Principal, table: SharedTable, source: CatalogTable) -> None:
        self.asked.append(table.name)
        await self.hang.wait()
        if table.name in self.failures:
            raise self.failures[table.name]


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Listing:
    """Listings of tables in memory."""

    def __init__(self) -> None:
        made = IcebergInMemory()
        self.catalog, self.reads, self.clock = made.catalog, Reads(), Clock()
        self.jobs = BackgroundJobs()
        resolver = made.made.resolver
        self._tables = TableListing(resolver, made.offers, self.reads.check, self.jobs, self.clock)

    async def of(self, *tables: SharedTable) -> list[str]:
        """The names that are listed."""
        return [table.name for table in await self._tables.of(ACME, tables)]


@pytest.fixture
async def made() -> Listing:
    return Listing()


async def test_tables_with_credentials_are_listed_without_being_read(made: Listing) -> None:
    assert await made.of(ORDERS) == ["orders"]
    assert made.reads.asked == []


async def test_what_can_be_read_in_no_way_is_not_listed(made: Listing) -> None:
    assert await made.of(PRIVATE) == []
    assert made.reads.asked == []


async def test_tables_that_iceberg_cannot_express_are_not_listed(made: Listing) -> None:
    made.reads.failures["plain"] = NoSuchTable("intervals")
    assert await made.of(BY_URL, ORDERS, PLAIN) == ["by_url", "orders"]


async def test_a_table_is_read_once_in_a_while(made: Listing) -> None:
    made.reads.failures["by_url"] = NoSuchTable("intervals")
    for _ in range(2):
        assert await made.of(BY_URL) == []
    assert made.reads.asked == ["by_url"]
    made.clock.now = 300.0
    made.reads.failures.clear()
    assert await made.of(BY_URL) == ["by_url"]
    assert made.reads.asked == ["by_url", "by_url"]


async def test_a_table_that_is_shared_differently_is_read_again(made: Listing) -> None:
    made.reads.failures["by_url"] = NoSuchTable("intervals")
    assert await made.of(BY_URL) == []
    made.reads.failures.clear()
    assert await made.of(shared("by_url", access_modes=("url",), start_version=3)) == ["by_url"]


async def test_a_table_that_cannot_be_read_now_is_listed(
    made: Listing, caplog: pytest.LogCaptureFixture
) -> None:
    made.reads.failures["by_url"] = Unavailable("the store is down")
    assert await made.of(BY_URL) == ["by_url"]
    assert "the store is down" in caplog.text


async def test_a_listing_does_not_wait_for_slow_tables(
    made: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_tables, "_TIMEOUT", 0.01)
    made.reads.hang.clear()
    made.reads.failures["by_url"] = NoSuchTable("intervals")
    assert await made.of(BY_URL) == ["by_url"]
    assert await made.of(BY_URL) == ["by_url"]
    assert made.reads.asked == ["by_url"]  # both listings wait for the same read
    made.reads.hang.set()
    monkeypatch.undo()
    assert await made.of(BY_URL) == []
    await made.jobs.aclose()
