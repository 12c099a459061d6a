from __future__ import annotations

import asyncio

import pytest

from sluicegate.api import ListedTable, NotFound, Unavailable
from sluicegate_testing.servers.unity_catalog.unity import (
    UnityReply,
    UnityRequest,
    UnityServer,
    table_info,
)

from .conftest import Connected


def add(unity: UnityServer, *names: str, **changed: object) -> None:
    known = len(unity.state.tables)
    for number, name in enumerate(names, start=known):
        unity.state.add(table_info(f"main.eu.{name}", f"file:///lake/{name}", number, **changed))


async def test_pages_are_read_to_the_end(unity: UnityServer, connected: Connected) -> None:
    names = [f"t{number:03}" for number in range(200)]
    add(unity, *names)
    assert await connected().list_tables("eu") == names
    # Two full pages, and an empty one, because a full page has a token.
    assert [asked.query["max_results"] for asked in unity.requests] == ["100"] * 3
    assert {asked.query["omit_columns"] for asked in unity.requests} == {"true"}


async def test_empty_pages_in_the_middle_end_nothing(unity: UnityServer, connected: Connected) -> None:
    names = [f"t{number:03}" for number in range(250)]
    add(unity, *names)
    unity.state.forbidden = {f"main.eu.{name}" for name in names[100:200]}
    assert await connected().list_tables("eu") == names[:100] + names[200:]


async def test_tokens_are_passed_on_as_they_are(unity: UnityServer, connected: Connected) -> None:
    token = "a+b/c==&page_token=x%20ü\n"

    def two_pages(asked: UnityRequest) -> UnityReply:
        second = asked.query.get("page_token") == token
        entry = table_info(f"main.eu.{'b' if second else 'a'}", "file:///lake/t")
        return UnityReply.of({"tables": [entry], "next_page_token": None if second else token})

    unity.instead = two_pages
    assert await connected().list_tables("eu") == ["a", "b"]


@pytest.mark.parametrize(
    ("changed", "listed"),
    [
        ({}, True),
        ({"table_type": "MANAGED"}, True),
        ({"table_type": "STREAMING_TABLE"}, True),
        ({"table_type": "VIEW"}, False),
        ({"table_type": "VIEW", "storage_location": None}, False),
        ({"table_type": "MATERIALIZED_VIEW"}, False),
        ({"table_type": "METRIC_VIEW"}, False),
        ({"table_type": None}, False),
        ({"storage_location": None}, False),
        ({"storage_location": ""}, False),
        *(({"data_source_format": name}, False) for name in ("CSV", "JSON", "PARQUET", "TEXT", None)),
        ({"name": None}, False),
        ({"name": "a.b"}, False),
    ],
)
async def test_only_delta_tables_with_files_are_listed(
    unity: UnityServer, connected: Connected, changed: dict[str, object], listed: bool
) -> None:
    entry = table_info("main.eu.orders", "file:///lake/orders", **changed)
    unity.instead = lambda _: UnityReply.of({"tables": [entry], "next_page_token": None})
    assert await connected().list_tables("eu") == (["orders"] if listed else [])


async def test_a_listing_has_the_ids_and_ages_of_its_tables(
    unity: UnityServer, connected: Connected
) -> None:
    add(unity, "orders", "visits")
    add(unity, "strange", table_id=None)
    assert await connected().listed_tables("eu") == [
        ListedTable("orders", "00000000-0000-0000-0000-000000000000", 1_780_000_000_000),
        ListedTable("strange", None, 1_780_000_000_002),
        ListedTable("visits", "00000000-0000-0000-0000-000000000001", 1_780_000_000_001),
    ]


async def test_a_page_is_requested_where_the_last_one_ended(
    unity: UnityServer, connected: Connected
) -> None:
    names = [f"t{number:03}" for number in range(150)]
    add(unity, *names)
    catalog = connected()
    first = await catalog.table_page("eu", None)
    second = await catalog.table_page("eu", first.next_token)
    assert [table.name for table in (*first.tables, *second.tables)] == names
    assert (len(first.tables), second.next_token, len(unity.requests)) == (100, None, 2)


async def test_schemas_of_all_catalogs_bear_their_catalogs_name(
    unity: UnityServer, connected: Connected
) -> None:
    unity.state.schemas = ["main.eu", "main.us", "other.eu", "hidden.eu"]
    unity.state.forbidden = {"hidden"}
    assert await connected(catalog=None).list_schemas() == ["main.eu", "main.us", "other.eu"]
    assert await connected(catalog="other").list_schemas() == ["eu"]


@pytest.mark.parametrize("schema", ["us", "main.us", "other.eu", "a.b.c", "", "e u", "../eu"])
async def test_a_schema_that_is_not_there_is_not_found(
    unity: UnityServer, connected: Connected, schema: str
) -> None:
    unity.state.schemas = ["main.eu", "other.eu"]
    with pytest.raises(NotFound):
        await connected().list_tables(schema)


async def test_a_schema_without_grants_lists_nothing(unity: UnityServer, connected: Connected) -> None:
    add(unity, "orders")
    unity.state.forbidden = {"main.eu"}
    assert await connected().list_tables("eu") == []


async def test_a_missing_catalog_is_not_found(connected: Connected) -> None:
    with pytest.raises(NotFound, match="has no catalog 'nowhere'"):
        await connected(catalog="nowhere").list_schemas()


@pytest.mark.parametrize(
    "page",
    [
        {"tables": [], "next_page_token": "again"},
        {"tables": [], "next_page_token": 7},
        {"tables": "orders", "next_page_token": None},
        {"tables": {"name": "orders"}},
    ],
)
async def test_a_listing_that_lies_ends(
    unity: UnityServer, connected: Connected, page: dict[str, object]
) -> None:
    unity.instead = lambda _: UnityReply.of(page)
    with pytest.raises(Unavailable, match="the catalog 'lake' does not respond as expected"):
        await connected().list_tables("eu")
    assert len(unity.requests) <= 2


async def test_a_listing_that_never_ends_is_given_up(unity: UnityServer, connected: Connected) -> None:
    unity.instead = lambda _: UnityReply.of({"tables": [], "next_page_token": str(len(unity.requests))})
    catalog = connected()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(catalog.list_tables("eu"), 1)
    unity.instead = None
    add(unity, "orders")
    assert await catalog.list_tables("eu") == ["orders"]


async def test_properties_are_tags_only_if_they_are_configured(
    unity: UnityServer, connected: Connected
) -> None:
    add(unity, "orders", properties={"class": "secret", "owner": "sales", "number": 1})
    add(unity, "visits", properties=None)
    plain, tagging = connected(), connected(tag_properties=["class", "number", "missing"])
    for catalog, expected in ((plain, {}), (tagging, {"class": "secret"})):
        orders, visits = await catalog.listed_tables("eu")
        assert (orders.tags, visits.tags) == (expected, {})
        page = await catalog.table_page("eu", None)
        assert [table.tags for table in page.tables] == [expected, {}]
        assert (await catalog.load_table("eu.orders")).tags == expected
        assert (await catalog.load_table("eu.visits")).tags == {}
    asked = [each.query.get("omit_properties") for each in unity.requests if each.query]
    assert asked == ["true", "true", None, None]


async def test_a_table_has_the_name_of_the_listing(unity: UnityServer, connected: Connected) -> None:
    unity.instead = lambda _: UnityReply.of(table_info("main.eu.orders", "file:///lake/orders"))
    assert (await connected().load_table("eu.ORDERS")).name == "orders"
