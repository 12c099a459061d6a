"""A schema that is shared whole: which tables recipients see, and as what."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from sluicegate.api import (
    Catalog,
    CatalogTable,
    ListedTable,
    NotFound,
    PermissionDenied,
    Schema,
    Share,
    SharedSchemaSource,
    SharedTable,
    Unavailable,
)
from sluicegate.config import Settings
from sluicegate.plugins import Instances, Registry, configure
from sluicegate.plugins.context import NoLinks
from sluicegate.protocols.common.share_schemas import SchemaTables
from sluicegate_testing.fakes import MemoryCatalog

SCHEMA = Schema("7c9e", Share("s1", "sales"), "eu")
SOURCE = SharedSchemaSource("main", "up")
LONGEST = "t" * 255


class Upstream(MemoryCatalog):
    """A catalog whose tables a test changes; it tells ids, or names alone."""

    def __init__(self, *names: str, tells_ids: bool = True) -> None:
        self.tables = {name: self._table(f"id-of-{name}") for name in names}
        self._tells_ids = tells_ids
        self.ages: dict[str, int | None] = {}
        self.loaded: list[str] = []
        self.failure: Exception | None = None
        super().__init__({"up": self.tables})

    def recreate(self, name: str) -> None:
        """Drop a table and create another one of that name."""
        self.tables[name] = self._table(f"another-{name}")

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        if self.failure is not None:
            raise self.failure
        listed = [
            replace(table, created_at=self.ages.get(table.name))
            for table in await super().listed_tables(schema)
        ]
        return listed if self._tells_ids else [ListedTable(table.name) for table in listed]

    @staticmethod
    def _table(table_id: str) -> CatalogTable:
        return CatalogTable(table_id, "delta", "memory://lake/t")


class ByName(Upstream):
    """A catalog that finds its tables by their exact names."""

    finds_by_name = True

    async def load_table(self, identifier: str) -> CatalogTable:
        self.loaded.append(identifier)
        return await super().load_table(identifier)


@asynccontextmanager
async def schema_tables(upstream: Catalog) -> AsyncIterator[SchemaTables]:
    """What lists the schemas of the catalog `main`."""
    settings = Settings.model_validate({"catalogs": {"main": {"type": "paths"}}, "plugins": ["paths"]})
    registry = Registry.load(settings)
    instances = Instances(
        registry, configure(settings, registry), links=NoLinks, guard=lambda *_: upstream
    )
    yield SchemaTables(instances)
    await instances.aclose()


async def listed(upstream: Catalog, **options: Any) -> list[SharedTable]:
    async with schema_tables(upstream) as whole:
        return list((await whole.tables(SCHEMA, replace(SOURCE, **options))).ordered)


async def names(upstream: Catalog, **options: Any) -> list[str]:
    return [table.name for table in await listed(upstream, **options)]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, ["Orders", "tmp_a", "TMP_b", "visits"]),
        ({"include": ("*s",)}, ["Orders", "visits"]),
        ({"include": ("ORDERS", "v?sits")}, ["Orders", "visits"]),
        ({"exclude": ("tmp_*",)}, ["Orders", "visits"]),
        ({"include": ("tmp_*",), "exclude": ("*_b",)}, ["tmp_a"]),
        ({"include": ()}, []),
    ],
)
async def test_patterns_choose_in_any_spelling(options: dict[str, Any], shown: list[str]) -> None:
    assert await names(Upstream("visits", "Orders", "tmp_a", "TMP_b"), **options) == shown


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"history": True, "change_feed": True, "start_version": 3, "comment": "Live"},
        {"partition_filter": "country = 'DE'"},
        {"history": True, "access_modes": ("url", "dir")},
    ],
)
async def test_each_table_has_the_options_of_its_schema(options: dict[str, Any]) -> None:
    [orders] = await listed(Upstream("orders"), **options)
    assert orders == SharedTable(
        orders.id, "sales", "s1", "eu", "orders", "main", "up.orders", **options
    )


@pytest.mark.parametrize(
    ("upstream", "shown", "told"),
    [
        (["a", "a b"], ["a"], "'a b' of sales.eu is not shared: .* cannot contain a space"),
        (["a", "a/b"], ["a"], "cannot contain a slash"),
        (["a", "a.b"], ["a"], "cannot contain a period"),
        (["a", "a\tb"], ["a"], "cannot contain a control character"),
        (["A", "%41"], ["A"], "'%41' of sales.eu is not shared: .* cannot contain a percent sign"),
        (["a", "a?b"], ["a"], "cannot contain a question mark"),
        (["a", "a#b"], ["a"], "cannot contain a number sign"),
        (["a", ""], ["a"], "cannot be empty"),
        ([LONGEST, f"{LONGEST}t"], [LONGEST], "cannot be longer than 255 characters"),
        (
            ["a", "Größe", "GRÖSSE"],
            ["a"],
            "'GRÖSSE' of sales.eu is not shared: .* see it and 'Größe' under one name, 'grösse'",
        ),
        (
            ["Orders", "orders", "a"],
            ["a"],
            "'Orders' of sales.eu .* see it and 'orders' under one name",
        ),
    ],
)
async def test_what_no_recipient_can_name_is_left_out_and_logged_once(
    caplog: pytest.LogCaptureFixture, upstream: list[str], shown: list[str], told: str
) -> None:
    async with schema_tables(Upstream(*upstream)) as whole:
        for _ in range(3):
            listing = await whole.tables(SCHEMA, SOURCE)
    assert [table.name for table in listing.ordered] == shown
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == len(upstream) - len(shown)
    assert re.search(told, "\n".join(warnings))


@pytest.mark.parametrize(
    ("upstream", "shown", "told"),
    [
        (["a b", "c/d", "e.f", "g\th", "i\x7f", "%j?#"], "_j__ a_b c_d e_f g_h i_", ""),
        (["a b", "A_B", "c"], "c", "see it and 'A_B' under one name, 'a_b'; exclude one"),
        (["a b", "a.b"], "", "see it and 'a.b' under one name, 'a_b'"),
        (
            ["a", f"{LONGEST}t"],
            "a",
            "cannot be longer than 255 .*; declare it with another name",
        ),
    ],
    ids=["each", "taken", "two", "long"],
)
async def test_an_alias_names_what_recipients_cannot(
    caplog: pytest.LogCaptureFixture, upstream: list[str], shown: str, told: str
) -> None:
    assert await names(Upstream(*upstream), alias="_") == shown.split()
    assert len(caplog.records) == len(upstream) - len(shown.split())
    assert re.search(told, caplog.text)


async def test_the_log_suggests_the_alias(caplog: pytest.LogCaptureFixture) -> None:
    assert await names(Upstream("a b", "c\ud800")) == []
    assert "set alias: '_' to share it as 'a_b', or declare it" in caplog.records[0].getMessage()
    assert "alias" not in caplog.records[1].getMessage()


async def test_a_table_by_an_alias_is_the_catalogs_and_keeps_its_id() -> None:
    upstream = Upstream("a b")
    [by_one], [by_other] = [await listed(upstream, alias=alias) for alias in ("_", "--")]
    assert (by_one.name, by_one.identifier) == ("a_b", "up.a b")
    assert (by_other.name, by_other.id) == ("a--b", by_one.id)


async def test_patterns_choose_by_the_catalogs_names() -> None:
    upstream = Upstream("a b", "a_b")
    assert await names(upstream, alias="_", exclude=("a_b",)) == ["a_b"]
    [table] = await listed(upstream, alias="_", exclude=("a_b",))
    assert table.identifier == "up.a b"


@pytest.mark.parametrize(
    ("ages", "shown"),
    [
        ({"orders": 3, "Orders": 1, "ORDERS": 2}, ["Orders", "visits"]),
        ({"orders": 3, "Orders": 1, "ORDERS": None}, ["visits"]),
        ({"orders": 3, "Orders": 3}, ["visits"]),
    ],
)
async def test_of_names_in_several_spellings_the_oldest_tables_is_shared(
    ages: dict[str, int | None], shown: list[str]
) -> None:
    upstream = Upstream(*ages, "visits")
    upstream.ages = ages
    assert await names(upstream) == shown


async def test_a_name_in_two_spellings_is_no_clash_where_one_is_excluded() -> None:
    upstream = Upstream("orders", "ORDERS_old", "orders_OLD")
    assert await names(upstream, exclude=("*_old",)) == ["orders"]


def _nothing(_: Upstream) -> None:
    """Leave it as it is."""


@pytest.mark.parametrize(
    ("tells_ids", "happens", "same"),
    [
        (True, _nothing, True),
        (False, _nothing, True),
        (True, lambda upstream: upstream.recreate("orders"), False),
        # Nobody could know without a question for each table.
        (False, lambda upstream: upstream.recreate("orders"), True),
    ],
)
async def test_a_table_that_is_created_anew_has_another_id_where_listings_tell(
    tells_ids: bool, happens: Callable[[Upstream], None], same: bool
) -> None:
    upstream = Upstream("orders", "visits", tells_ids=tells_ids)
    async with schema_tables(upstream) as whole:
        before = [table.id for table in (await whole.tables(SCHEMA, SOURCE)).ordered]
        happens(upstream)
        after = [table.id for table in (await whole.tables(SCHEMA, SOURCE)).ordered]
    assert len({*before, *after}) == (2 if same else 3)
    assert (before[0] == after[0], before[1] == after[1]) == (same, True)


async def test_a_renamed_table_keeps_its_id_where_listings_tell() -> None:
    upstream = Upstream("orders")
    [before] = await listed(upstream)
    upstream.tables["purchases"] = upstream.tables.pop("orders")
    [after] = await listed(upstream)
    assert (after.name, after.id) == ("purchases", before.id)


async def test_tables_are_found_in_any_spelling_and_new_ones_at_once() -> None:
    upstream = Upstream("Orders")
    async with schema_tables(upstream) as whole:
        assert (await whole.tables(SCHEMA, SOURCE)).by_key["orders"].name == "Orders"
        upstream.recreate("visits")
        assert set((await whole.tables(SCHEMA, SOURCE)).by_key) == {"orders", "visits"}


@pytest.mark.parametrize(
    ("name", "options", "found"),
    [
        ("Orders", {}, "Orders"),
        ("gone", {}, None),
        ("Orders", {"exclude": ("ord*",)}, None),
        ("a b", {}, None),
        ("Orders", {"include": ("visits",)}, None),
    ],
)
async def test_a_single_table_is_looked_up_by_its_name(
    name: str, options: dict[str, Any], found: str | None
) -> None:
    upstream = ByName("Orders", "visits", "a b")
    source = replace(SOURCE, **options)
    async with schema_tables(upstream) as whole:
        table = await whole.table(SCHEMA, source, name)
        assert (table and table.name) == found
        if table is not None:
            listing = await whole.tables(SCHEMA, source)
            assert listing.by_key["orders"] == table


async def test_a_single_table_is_found_while_its_schema_cannot_be_listed() -> None:
    upstream = ByName("Orders")
    upstream.failure = Unavailable("too many pages")
    async with schema_tables(upstream) as whole:
        table = await whole.table(SCHEMA, SOURCE, "Orders")
        assert (table and table.name) == "Orders"
        with pytest.raises(Unavailable, match=r"the schema sales\.eu cannot be listed now"):
            await whole.table(SCHEMA, SOURCE, "orders")


async def test_another_spelling_is_looked_up_as_the_last_listing_spelled_it() -> None:
    upstream = ByName("Orders")
    async with schema_tables(upstream) as whole:
        await whole.tables(SCHEMA, SOURCE)
        upstream.failure = Unavailable("too many pages")
        table = await whole.table(SCHEMA, SOURCE, "ORDERS")
    assert (table and table.name) == "Orders"
    assert upstream.loaded == ["up.Orders"]


async def test_a_name_that_an_older_table_has_is_not_given_to_a_newer_one() -> None:
    upstream = ByName("Orders", "ORDERS")
    upstream.ages = {"Orders": 1, "ORDERS": 2}
    async with schema_tables(upstream) as whole:
        await whole.tables(SCHEMA, SOURCE)
        table = await whole.table(SCHEMA, SOURCE, "ORDERS")
    assert (table and table.name) == "Orders"


async def test_an_alias_is_looked_up_by_the_catalogs_name() -> None:
    upstream = ByName("a b")
    source = replace(SOURCE, alias="_")
    async with schema_tables(upstream) as whole:
        first = await whole.table(SCHEMA, source, "a_b")
        upstream.failure = Unavailable("too many pages")
        assert await whole.table(SCHEMA, source, "A_B") == first
    assert (first and first.name, first and first.identifier) == ("a_b", "up.a b")
    assert upstream.loaded == ["up.a b"]


async def test_a_catalog_that_does_not_find_by_name_is_listed() -> None:
    async with schema_tables(Upstream("Orders")) as whole:
        table = await whole.table(SCHEMA, SOURCE, "ORDERS")
    assert (table and table.name) == "Orders"


async def test_a_listing_is_made_once_for_each_answer_and_declaration() -> None:
    async with schema_tables(Upstream("orders")) as whole:
        first = await whole.tables(SCHEMA, SOURCE)
        assert await whole.tables(SCHEMA, SOURCE) is first
        kept = replace(SCHEMA, source=replace(SOURCE, history=True))
        assert kept.source is not None
        assert (await whole.tables(kept, kept.source)).ordered[0].history


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (Unavailable("main is down", detail="10.0.0.7 refused"), Unavailable),
        (PermissionDenied("not for you", detail="main refuses the gateway"), Unavailable),
        (NotFound("no schema 'up' in main"), NotFound),
    ],
)
async def test_a_failing_catalogs_words_stay_in_the_log(
    failure: Exception, raised: type[Unavailable]
) -> None:
    upstream = Upstream("orders")
    upstream.failure = failure
    with pytest.raises(raised, match=r"the schema sales\.eu ") as refused:
        await listed(upstream)
    assert "main" not in refused.value.message
    assert "main" in (refused.value.detail or "")


async def test_a_catalog_that_is_not_configured_any_more_has_no_schemas() -> None:
    with pytest.raises(NotFound, match=r"the schema sales\.eu no longer exists"):
        await listed(Upstream("orders"), catalog="gone")


@pytest.mark.parametrize(
    ("names_there", "options", "told"),
    [
        ((), {}, "schema sales.eu has 0 tables: the catalog lists none that the gateway can read"),
        (("orders",), {"exclude": ("*",)}, "has 0 tables: include and exclude select none of 1"),
        (("orders",), {}, None),
    ],
)
async def test_the_log_says_once_why_a_schema_is_empty(
    caplog: pytest.LogCaptureFixture,
    names_there: tuple[str, ...],
    options: dict[str, Any],
    told: str | None,
) -> None:
    async with schema_tables(Upstream(*names_there)) as whole:
        for _ in range(2):
            await whole.tables(SCHEMA, replace(SOURCE, **options))
    assert len(caplog.records) == (0 if told is None else 1)
    assert told is None or told in caplog.text
