"""A catalog that is slow, down, or lies: what requests get, and how often it is asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.api import CatalogConfig, CatalogTable, NotFound, PermissionDenied, Unavailable
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate_testing.fakes import MemoryCatalog

ORDERS = CatalogTable("t-1", "delta", "memory://lake/orders")
PINNED = replace(ORDERS, id="t-2", metadata_location="memory://lake/orders/metadata/1.json")
MANAGED = replace(ORDERS, id="t-3", latest_version=7)


class Upstream(MemoryCatalog):
    """A catalog whose answers a test changes, and which counts its questions."""

    def __init__(self, **tables: CatalogTable) -> None:
        self.tables = dict(tables)
        super().__init__({"eu": self.tables})
        self.asked: Counter[str] = Counter()
        self.failure: Exception | None = None
        self.before: Callable[[], Awaitable[object]] | None = None

    async def list_tables(self, schema: str) -> list[str]:
        await self._ask("list")
        return await super().list_tables(schema)

    async def load_table(self, identifier: str) -> CatalogTable:
        await self._ask(identifier)
        return await super().load_table(identifier)

    async def _ask(self, what: str) -> None:
        self.asked[what] += 1
        if self.before is not None:
            await self.before()
        if self.failure is not None:
            raise self.failure


class Guarded:
    """The catalog under test, and its clock."""

    def __init__(self, upstream: Upstream, **settings: int) -> None:
        self.now = 1000.0
        self.upstream = upstream
        config = CatalogConfig.model_validate(settings)
        self.catalog = GuardedCatalog("main", upstream, config, lambda: self.now)

    async def load(self, name: str = "orders") -> CatalogTable:
        return await self.catalog.load_table(self.catalog.identifier("eu", name))

    async def after(self, seconds: float) -> CatalogTable:
        self.now += seconds
        return await self.load()


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_fresh_answer_is_given_without_asking() -> None:
    main = Guarded(Upstream(orders=ORDERS), max_age=10)
    for _ in range(3):
        assert await main.after(3) == ORDERS
    assert main.upstream.asked.total() == 1


async def test_a_stale_response_is_returned_while_the_catalog_is_queried() -> None:
    main = Guarded(Upstream(orders=ORDERS), max_age=10, stale_while_revalidate=60)
    await main.load()
    moved = replace(ORDERS, location="memory://lake/moved")
    main.upstream.tables["orders"] = moved

    assert await main.after(11) == ORDERS
    await _settle()

    assert await main.load() == moved
    assert main.upstream.asked.total() == 2


async def test_what_is_too_old_is_requested_first() -> None:
    main = Guarded(Upstream(orders=ORDERS), max_age=10, stale_while_revalidate=60)
    await main.load()
    recreated = main.upstream.tables["orders"] = replace(ORDERS, id="t-9")
    assert await main.after(71) == recreated


@pytest.mark.parametrize("table", [PINNED, MANAGED])
async def test_a_pinned_state_is_never_stale(table: CatalogTable) -> None:
    main = Guarded(Upstream(orders=table), max_age=10, stale_while_revalidate=60)
    assert await main.load() == await main.after(9) == table
    main.upstream.failure = Unavailable("down")
    with pytest.raises(Unavailable):
        await main.after(2)


async def test_one_request_is_sent_for_all_who_wait() -> None:
    main = Guarded(Upstream(orders=ORDERS))
    answers = await asyncio.gather(*(main.load() for _ in range(50)))
    assert answers == [ORDERS] * 50
    assert main.upstream.asked.total() == 1


async def test_names_of_one_table_are_one_question() -> None:
    class Spelled(Upstream):
        def canonical_identifier(self, identifier: str) -> str:
            return identifier.removeprefix("main.")

        def canonical_schema(self, schema: str) -> str:
            return schema.removeprefix("main.")

        def readable_schema(self, schema: str) -> str:
            return schema.replace("%2E", ".")

    main = Guarded(Spelled(orders=ORDERS))
    assert await main.catalog.load_table("eu.orders") == await main.catalog.load_table("main.eu.orders")
    assert await main.catalog.list_tables("eu") == await main.catalog.list_tables("main.eu")
    assert main.upstream.asked == {"eu.orders": 1, "list": 1}
    assert main.catalog.readable_schema("eu%2Enorth") == "eu.north"


async def test_a_catalog_that_is_down_is_given_time_and_comes_back() -> None:
    main = Guarded(Upstream(orders=ORDERS))
    main.upstream.failure = Unavailable("down", detail="10.0.0.7 refused")
    for _ in range(5):
        with pytest.raises(Unavailable):
            await main.load()
    assert main.upstream.asked.total() == 1
    main.upstream.failure = None
    assert await main.after(3) == ORDERS


async def test_what_is_fresh_enough_survives_an_outage_and_no_longer() -> None:
    main = Guarded(Upstream(orders=ORDERS), max_age=10, stale_while_revalidate=60)
    await main.load()
    main.upstream.failure = Unavailable("down")
    for _ in range(6):
        assert await main.after(11) == ORDERS
        await _settle()
    with pytest.raises(Unavailable):
        await main.after(11)


async def test_one_broken_table_is_no_harm_to_others() -> None:
    main = Guarded(Upstream(orders=ORDERS, visits=replace(ORDERS, location="nowhere")))
    for _ in range(4):
        with pytest.raises(Unavailable):
            await main.load("visits")
    assert await main.load() == ORDERS


async def test_a_missing_table_is_requested_once_in_a_while() -> None:
    main = Guarded(Upstream(), max_age=10)
    for _ in range(3):
        with pytest.raises(NotFound):
            await main.load()
    assert main.upstream.asked.total() == 1
    main.upstream.tables["orders"] = ORDERS
    assert await main.after(11) == ORDERS


async def test_a_refusal_is_handed_on_and_not_remembered() -> None:
    main = Guarded(Upstream(orders=ORDERS))
    main.upstream.failure = PermissionDenied("not for you")
    with pytest.raises(PermissionDenied):
        await main.load()
    main.upstream.failure = None
    assert await main.load() == ORDERS


async def test_a_catalog_that_hangs_is_given_up() -> None:
    main = Guarded(Upstream(orders=ORDERS), timeout=1)
    main.upstream.before = asyncio.Event().wait
    with pytest.raises(Unavailable) as refused:
        await main.load()
    assert "main" in refused.value.message


@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        (replace(ORDERS, id=""), "the id is empty"),
        (replace(ORDERS, location="/etc/passwd"), "the location '/etc/passwd' is not an absolute URL"),
        (replace(ORDERS, location="memory://lake/orders/"), "orders/' ends with a slash"),
    ],
)
async def test_an_answer_that_says_no_place_is_no_answer(lie: CatalogTable, problem: str) -> None:
    with pytest.raises(Unavailable) as refused:
        await Guarded(Upstream(orders=lie)).load()
    assert lie.location not in refused.value.message
    assert problem in (refused.value.detail or "")


async def test_a_fault_of_an_adapter_is_its_own_tables_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    main = Guarded(Upstream(orders=ORDERS))
    main.upstream.failure = KeyError("storage_location")
    with pytest.raises(Unavailable) as refused:
        await main.load()
    assert "storage_location" not in refused.value.message
    assert "storage_location" in caplog.text


async def test_a_catalog_gets_a_bounded_number_of_concurrent_requests() -> None:
    tables = {f"t{number}": ORDERS for number in range(20)}
    main = Guarded(Upstream(**tables), max_concurrency=3)
    running, most = 0, 0

    async def observe() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    main.upstream.before = observe
    await asyncio.gather(*(main.load(name) for name in tables))
    assert most == 3


@given(
    max_age=st.integers(0, 20),
    stale=st.integers(0, 60),
    waits=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    down=st.sets(st.integers(0, 29)),
)
@settings(deadline=None)
async def test_no_answer_is_older_than_allowed(
    max_age: int, stale: int, waits: list[int], down: set[int]
) -> None:
    main = Guarded(Upstream(orders=ORDERS), max_age=max_age, stale_while_revalidate=stale)
    for number, seconds in enumerate(waits):
        main.now += seconds
        main.upstream.tables["orders"] = replace(ORDERS, id=str(main.now))
        main.upstream.failure = Unavailable("down") if number in down else None
        try:
            answer = await main.load()
        except Unavailable:
            continue
        assert main.now - float(answer.id) <= max_age + stale
        await _settle()
