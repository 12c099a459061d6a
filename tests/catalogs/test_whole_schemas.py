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
from sluicegate.doors.whole_schemas import WholeSchemas
from sluicegate.registry import Instances, Registry, configure
from sluicegate.registry.contexts import NoLinks
from sluicegate.testing.fakes import MemoryCatalog

SCHEMA = Schema("7c9e", Share("s1", "sales"), "eu")
SOURCE = SharedSchemaSource("main", "up")
LONGEST = "t" * 255


class Upstream(MemoryCatalog):
    """A catalog whose tables a test changes; it tells ids, or names alone."""

    def __init__(self, *names: str, tells_ids: bool = True) -> None:
        self.tables = {name: self._table(f"id-of-{name}") for name in names}
        self._tells_ids = tells_ids
        self.failure: Exception | None = None
        super().__init__({"up": self.tables})

    def recreate(self, name: str) -> None:
        """Drop a table and create another one of that name."""
        self.tables[name] = self._table(f"another-{name}")

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        if self.failure is not None:
            raise self.failure
        listed = await super().listed_tables(schema)
        return listed if self._tells_ids else [ListedTable(table.name) for table in listed]

    @staticmethod
    def _table(table_id: str) -> CatalogTable:
        return CatalogTable(table_id, "delta", "memory://lake/t")


@asynccontextmanager
async def whole_schemas(upstream: Catalog) -> AsyncIterator[WholeSchemas]:
    """What lists the schemas of the catalog `main`."""
    settings = Settings.model_validate({"catalogs": {"main": {"type": "paths"}}, "plugins": ["paths"]})
    registry = Registry.load(settings)
    instances = Instances(
        registry, configure(settings, registry), links=NoLinks, guard=lambda *_: upstream
    )
    yield WholeSchemas(instances)
    await instances.aclose()


async def listed(upstream: Catalog, **options: Any) -> list[SharedTable]:
    async with whole_schemas(upstream) as whole:
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
        (["a", ""], ["a"], "cannot be empty"),
        ([LONGEST, f"{LONGEST}t"], [LONGEST], "cannot be longer than 255 characters"),
        (["a", "Größe", "GRÖSSE"], ["a"], "differs in upper and lower case alone"),
        (["Orders", "orders", "a"], ["a"], "'Orders' of sales.eu is not shared: another's name"),
    ],
)
async def test_what_no_recipient_can_name_is_left_out_and_logged_once(
    caplog: pytest.LogCaptureFixture, upstream: list[str], shown: list[str], told: str
) -> None:
    async with whole_schemas(Upstream(*upstream)) as whole:
        for _ in range(3):
            listing = await whole.tables(SCHEMA, SOURCE)
    assert [table.name for table in listing.ordered] == shown
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == len(upstream) - len(shown)
    assert re.search(told, "\n".join(warnings))


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
    async with whole_schemas(upstream) as whole:
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
    async with whole_schemas(upstream) as whole:
        assert (await whole.tables(SCHEMA, SOURCE)).by_key["orders"].name == "Orders"
        upstream.recreate("visits")
        assert set((await whole.tables(SCHEMA, SOURCE)).by_key) == {"orders", "visits"}


async def test_a_listing_is_made_once_for_each_answer_and_declaration() -> None:
    async with whole_schemas(Upstream("orders")) as whole:
        first = await whole.tables(SCHEMA, SOURCE)
        assert await whole.tables(SCHEMA, SOURCE) is first
        kept = replace(SCHEMA, source=replace(SOURCE, history=True))
        assert kept.source is not None
        assert (await whole.tables(kept, kept.source)).ordered[0].history


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (Unavailable("main is down", detail="10.0.0.7 refused"), Unavailable),
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
    with pytest.raises(NotFound, match=r"the schema sales\.eu is not there any more"):
        await listed(Upstream("orders"), catalog="gone")


async def test_a_refusal_is_handed_on() -> None:
    upstream = Upstream("orders")
    upstream.failure = PermissionDenied("not for you")
    with pytest.raises(PermissionDenied):
        await listed(upstream)
