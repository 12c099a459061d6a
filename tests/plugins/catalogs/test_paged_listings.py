"""Listings of many pages: what bounds them, and how they go on after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from sluicegate.api import CatalogConfig, ListedTable, NotFound, TablePage, Unavailable
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate.plugins.catalogs.paged_listings import ListingPage, PagedListings
from sluicegate_testing.fakes import MemoryCatalog


class Pages(MemoryCatalog):
    """A schema of numbered tables, one a page; the n-th request may fail or take time."""

    def __init__(self, count: int) -> None:
        super().__init__({"eu": {}})
        self.count = count
        self.tokens: list[str | None] = []
        self.failing: dict[int, Exception] = {}
        self.before: Callable[[], None] = lambda: None
        self.hanging: set[int] = set()

    async def table_page(self, schema: str, token: str | None) -> TablePage:
        self.tokens.append(token)
        self.before()
        request = len(self.tokens)
        if request in self.hanging:
            await asyncio.Event().wait()
        if request in self.failing:
            raise self.failing[request]
        number = int(token or 0)
        following = str(number + 1) if number + 1 < self.count else None
        return TablePage([ListedTable(f"t{number}")], following)

    async def listing_page(self, schema: str, token: str | None) -> ListingPage[ListedTable]:
        page = await self.table_page(schema, token)
        return ListingPage(page.tables, page.next_token)


class Clock:
    """Seconds that pass as a test wants."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


def guarded(pages: Pages, clock: Clock, **settings: int) -> GuardedCatalog:
    return GuardedCatalog("main", pages, CatalogConfig.model_validate(settings), clock)


async def test_a_listing_that_fails_is_continued_where_it_stopped() -> None:
    pages, clock = Pages(4), Clock()
    pages.failing = {3: Unavailable("down")}
    catalog = guarded(pages, clock)
    with pytest.raises(Unavailable, match="down"):
        await catalog.list_tables("eu")
    clock.passes(3)
    assert await catalog.list_tables("eu") == ["t0", "t1", "t2", "t3"]
    assert pages.tokens == [None, "1", "2", "2", "3"]


async def test_each_page_has_the_catalogs_timeout() -> None:
    pages, clock = Pages(3), Clock()
    pages.hanging = {2}
    catalog = guarded(pages, clock, timeout=1)
    with pytest.raises(Unavailable, match="does not respond now"):
        await catalog.list_tables("eu")
    clock.passes(3)
    assert await catalog.list_tables("eu") == ["t0", "t1", "t2"]


async def test_a_listing_is_as_old_as_its_last_page() -> None:
    pages, clock = Pages(20), Clock()
    pages.before = lambda: clock.passes(8)  # 160 seconds in all
    catalog = guarded(pages, clock, max_age=10, stale_while_revalidate=60)
    tables = await catalog.listed_tables("eu")
    pages.before = lambda: None
    clock.passes(9)
    assert await catalog.listed_tables("eu") is tables
    assert len(pages.tokens) == 20


async def test_a_stopped_listing_begins_again_after_five_minutes() -> None:
    pages, clock = Pages(3), Clock()
    pages.failing = {2: Unavailable("down")}
    listings = PagedListings("main", pages.listing_page, clock)
    with pytest.raises(Unavailable):
        await listings.list("eu")
    clock.passes(301)
    assert len((await listings.list("eu")).items) == 3
    assert pages.tokens == [None, "1", None, "1", "2"]


async def test_a_schema_that_vanishes_while_it_is_listed_is_not_continued() -> None:
    pages, clock = Pages(3), Clock()
    pages.failing = {2: NotFound("there is no such schema")}
    listings = PagedListings("main", pages.listing_page, clock)
    with pytest.raises(NotFound):
        await listings.list("eu")
    await listings.list("eu")
    assert pages.tokens == [None, "1", None, "1", "2"]


async def test_a_listing_that_repeats_a_page_ends_and_begins_again() -> None:
    asked: list[str | None] = []

    async def page(schema: str, token: str | None) -> ListingPage[ListedTable]:
        asked.append(token)
        return ListingPage([ListedTable("t")], "again")

    listings = PagedListings("main", page, Clock())
    for _ in range(2):
        with pytest.raises(Unavailable) as raised:
            await listings.list("eu")
        assert "does not end" in (raised.value.detail or "")
    assert asked == [None, "again", None, "again"]


async def test_who_waits_too_long_is_refused_and_the_listing_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sluicegate.plugins.catalogs.guarded._LONGEST_WAIT", 0.05)
    pages, gate = Pages(2), asyncio.Event()
    fetch = pages.table_page

    async def slow_page(schema: str, token: str | None) -> TablePage:
        await gate.wait()
        return await fetch(schema, token)

    monkeypatch.setattr(pages, "table_page", slow_page)
    catalog = guarded(pages, Clock())
    with pytest.raises(Unavailable, match="is still listing the schema"):
        await catalog.list_tables("eu")
    gate.set()
    monkeypatch.setattr("sluicegate.plugins.catalogs.guarded._LONGEST_WAIT", 5.0)
    assert await catalog.list_tables("eu") == ["t0", "t1"]
    assert pages.tokens == [None, "1"]
