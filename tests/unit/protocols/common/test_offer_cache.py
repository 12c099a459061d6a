"""What listings find out about tables while some catalogs do not respond."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import cast

import pytest

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.api import CatalogTable, SharedTable, Unavailable
from sluicegate.protocols.common.offer_cache import OfferCache
from sluicegate.protocols.common.resolver import Resolver


class Catalogs:
    """One catalog hangs, all others respond."""

    async def locate(self, shared: SharedTable) -> CatalogTable:
        if shared.catalog == "hanging":
            await asyncio.Event().wait()
        return CatalogTable(shared.name, "delta", f"s3://lake/{shared.name}")


def table(name: str, catalog: str) -> SharedTable:
    return SharedTable(
        id=name, share="s", share_id="s", schema="eu", name=name, catalog=catalog, identifier=name
    )


async def test_a_catalog_that_hangs_hides_no_table_of_another() -> None:
    cache = OfferCache(
        cast("Resolver", Catalogs()), lambda shared, source: source.location, BackgroundJobs()
    )
    hanging = [table(f"a{number}", "hanging") for number in range(100)]
    others = [table(f"b{number}", "well") for number in range(40)]
    await cache.prefetch([*hanging, *others])
    assert [cache.get(each) for each in others] == [f"s3://lake/b{number}" for number in range(40)]
    assert not any(map(cache.get, hanging))


class SlowCatalog:
    """Responds to as many requests as a test allows."""

    def __init__(self) -> None:
        self.allowed = asyncio.Semaphore(0)
        self.requests = 0
        self.began = asyncio.Event()

    async def locate(self, shared: SharedTable) -> CatalogTable:
        self.requests += 1
        self.began.set()
        await self.allowed.acquire()
        return CatalogTable(shared.name, "delta", f"s3://lake/{shared.name}")

    def allow(self, count: int) -> None:
        for _ in range(count):
            self.allowed.release()


def cache_over(catalog: SlowCatalog) -> OfferCache[str]:
    return OfferCache(
        cast("Resolver", catalog), lambda shared, source: source.location, BackgroundJobs()
    )


async def test_what_a_listing_does_not_wait_for_is_there_at_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sluicegate.protocols.common.offer_cache._TIMEOUT", 0.05)
    catalog = SlowCatalog()
    cache = cache_over(catalog)
    tables = [table(f"t{number}", "slow") for number in range(100)]
    catalog.allow(30)
    await cache.prefetch(tables)
    assert sum(cache.get(each) is not None for each in tables) == 30
    catalog.allow(70)
    await cache.prefetch(tables)
    assert all(cache.get(each) for each in tables)
    assert catalog.requests == 100


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_table_that_is_shared_otherwise_meanwhile_is_looked_up_for_both(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("sluicegate.protocols.common.offer_cache._AT_ONCE", workers)
    monkeypatch.setattr("sluicegate.protocols.common.offer_cache._TIMEOUT", 60)
    catalog = SlowCatalog()
    cache = cache_over(catalog)
    before = table("t", "slow")
    after = replace(before, access_modes=("dir",))
    listings = [asyncio.create_task(cache.prefetch([before]))]
    await catalog.began.wait()
    listings.append(asyncio.create_task(cache.prefetch([after])))
    await asyncio.sleep(0.01)
    catalog.allow(1)
    await asyncio.sleep(0.01)
    catalog.allow(1)
    async with asyncio.timeout(5):
        await asyncio.gather(*listings)
    assert cache.get(after) == "s3://lake/t"


async def test_the_next_listing_waits_while_answers_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate.protocols.common.offer_cache._TIMEOUT", 0.5)
    catalog = SlowCatalog()
    cache = cache_over(catalog)
    tables = [table(f"t{number}", "slow") for number in range(40)]
    await cache.prefetch(tables)
    assert not any(map(cache.get, tables))

    async def answer_slowly() -> None:
        for _ in range(8):
            await asyncio.sleep(0.1)  # 0.8 seconds in all
            catalog.allow(5)

    answering = asyncio.create_task(answer_slowly())
    await cache.prefetch(tables)
    await answering
    assert all(cache.get(each) for each in tables)


async def test_what_is_known_is_listed_at_once_while_it_is_refreshed() -> None:
    catalog, now = SlowCatalog(), 0.0
    cache = OfferCache(
        cast("Resolver", catalog), lambda shared, source: source.location, BackgroundJobs(), lambda: now
    )
    orders = table("orders", "slow")
    catalog.allow(1)
    await cache.prefetch([orders])
    now = 301.0
    for _ in range(3):
        await cache.prefetch([orders])  # nothing responds: it would not end before a second
    assert cache.get(orders) == "s3://lake/orders"
    assert catalog.requests == 2


class BrokenCatalog:
    """Fails until it is repaired."""

    def __init__(self) -> None:
        self.is_broken = True
        self.requests = 0

    async def locate(self, shared: SharedTable) -> CatalogTable:
        self.requests += 1
        if self.is_broken:
            raise Unavailable("the catalog does not respond")
        return CatalogTable(shared.name, "delta", f"s3://lake/{shared.name}")


@pytest.mark.parametrize(("is_known", "still_omitted", "found"), [(False, 4.9, 5), (True, 29.9, 30)])
async def test_a_table_that_no_listing_could_show_is_looked_up_again_soon(
    is_known: bool, still_omitted: float, found: float
) -> None:
    catalog, now = BrokenCatalog(), 0.0
    cache: OfferCache[str] = OfferCache(
        cast("Resolver", catalog),
        lambda shared, source: source.location,
        BackgroundJobs(),
        clock=lambda: now,
    )
    one = table("a", "broken")
    start = 0.0
    if is_known:
        catalog.is_broken = False
        await cache.prefetch([one])
        catalog.is_broken, start = True, 300.0
    now = start
    await cache.prefetch([one])
    await asyncio.sleep(0)
    catalog.is_broken, catalog.requests = False, 0
    now = start + still_omitted
    await cache.prefetch([one])
    assert catalog.requests == 0
    now = start + found
    await cache.prefetch([one])
    await asyncio.sleep(0)
    assert catalog.requests == 1
    assert cache.get(one) == "s3://lake/a"


async def test_a_fault_of_one_table_is_logged_and_hides_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def compute(shared: SharedTable, source: CatalogTable) -> str:
        if shared.name == "broken":
            raise KeyError("metadata")
        return source.location

    catalog = SlowCatalog()
    catalog.allow(20)
    cache = OfferCache(cast("Resolver", catalog), compute, BackgroundJobs())
    tables = [table(name, "slow") for name in ("broken", *map(str, range(19)))]
    await cache.prefetch(tables)
    assert [each.name for each in tables if not cache.get(each)] == ["broken"]
    assert "s.eu.broken is listed with cached information" in caplog.text


async def test_a_lookup_that_is_cancelled_leaves_its_table_to_the_next_listing() -> None:
    catalog = SlowCatalog()
    cache = cache_over(catalog)
    orders = table("orders", "slow")
    listing = asyncio.create_task(cache.prefetch([orders]))
    await catalog.began.wait()
    for task in asyncio.all_tasks() - {asyncio.current_task(), listing}:
        task.cancel()  # as closing the catalog does
    await listing
    assert cache.get(orders) is None
    catalog.allow(1)
    await cache.prefetch([orders])
    assert cache.get(orders) == "s3://lake/orders"
