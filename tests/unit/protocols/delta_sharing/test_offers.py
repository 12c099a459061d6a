"""Listings ask catalogs rarely, briefly, and never fail for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from support.gateways.vending_files import directory_access
from support.process.clock import Clock

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.api import CatalogTable, SharedTable, Unavailable
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.directory_access.offer_listing import ListedOffers

TABLE = SharedTable("1", "sales", "2", "eu", "t", "raw", "t", history=True, access_modes=("url", "dir"))


class Catalogs(Resolver):
    """Responds as a catalog that the test holds: no real one is slow or down at will."""

    def __init__(self, lake: str) -> None:
        self.lake = lake
        self.requested: list[str] = []
        self.down = self.stuck = False

    async def locate(self, shared: SharedTable) -> CatalogTable:
        self.requested.append(shared.identifier)
        if self.down:
            raise Unavailable("the catalog does not respond")
        if self.stuck:
            await anyio.sleep_forever()
        return CatalogTable("1", "delta", f"{self.lake}/{shared.identifier}")


@pytest.fixture
async def access(tmp_path: Path) -> AsyncIterator[DirectoryAccess]:
    (tmp_path / "lake").mkdir()
    (tmp_path / "site").mkdir()
    async with directory_access(tmp_path / "site", f"file://{tmp_path}/lake") as made:
        yield made


@pytest.fixture
def catalogs(tmp_path: Path) -> Catalogs:
    return Catalogs(f"file://{tmp_path}/lake")


@pytest.fixture
def clock() -> Clock:
    return Clock(0)


@pytest.fixture
def offers(catalogs: Catalogs, access: DirectoryAccess, clock: Clock) -> ListedOffers:
    return ListedOffers(catalogs, access, BackgroundJobs(), clock)


async def located(offers: ListedOffers, table: SharedTable = TABLE) -> str | None:
    """Where a listing says that a table is."""
    await offers.prefetch([table])
    location: str | None = offers.show(table).get("location")
    return None if location is None else location.rpartition("/")[2]


async def test_catalogs_are_queried_once_in_a_while(
    offers: ListedOffers, catalogs: Catalogs, clock: Clock
) -> None:
    for _ in range(3):
        assert await located(offers) == "t"
    assert catalogs.requested == ["t"]
    clock.now += 301
    assert await located(offers) == "t"
    assert catalogs.requested == ["t", "t"]


async def test_tables_shared_by_url_alone_are_not_requested(
    offers: ListedOffers, catalogs: Catalogs
) -> None:
    assert await located(offers, replace(TABLE, access_modes=("url",))) is None
    assert catalogs.requested == []


async def test_a_share_that_changes_is_seen_at_once(offers: ListedOffers) -> None:
    assert await located(offers) == "t"
    assert await located(offers, replace(TABLE, identifier="u")) == "u"
    assert await located(offers, replace(TABLE, start_version=1)) is None


async def test_a_catalog_that_is_down_is_left_alone_for_a_while(
    offers: ListedOffers, catalogs: Catalogs, clock: Clock
) -> None:
    catalogs.down = True
    assert [await located(offers) for _ in range(2)] == [None, None]
    assert catalogs.requested == ["t"]
    catalogs.down = False
    clock.now += 31
    assert await located(offers) == "t"


async def test_what_was_known_is_listed_while_a_catalog_is_down(
    offers: ListedOffers, catalogs: Catalogs, clock: Clock
) -> None:
    assert await located(offers) == "t"
    catalogs.down = True
    clock.now += 301
    assert await located(offers) == "t"
    assert catalogs.requested == ["t", "t"]


async def test_a_catalog_that_does_not_answer_is_not_waited_for(
    offers: ListedOffers, catalogs: Catalogs
) -> None:
    catalogs.stuck = True
    tables = [replace(TABLE, id=str(number), identifier=f"t{number}") for number in range(40)]
    await offers.prefetch(tables)
    assert all("location" not in offers.show(table) for table in tables)
