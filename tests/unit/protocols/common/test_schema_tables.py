"""The tables of a schema that is shared as a whole: listed, looked up by name, and their failures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gateways.in_memory import InMemory, ListedCatalog
from support.gateways.memory_instances import LAKE

from sluicegate.api import (
    Catalog,
    CatalogTable,
    InvalidRequest,
    ListedTable,
    NotFound,
    PermissionDenied,
    Schema,
    Share,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Unauthenticated,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.protocols.common.share_schemas import SchemaTables

SOURCE = SharedSchemaSource("main", "eu")
SCHEMA = Schema("e", Share("s1", "sales"), "europe", source=SOURCE)
TAGGED = replace(SCHEMA, tags={"region": "eu"})
WORDS = "pq: relation tables of db-7.internal is locked"


class ByName(ListedCatalog):
    """A catalog that looks up tables by name."""

    finds_by_name = True


def table(identity: str) -> CatalogTable:
    return CatalogTable(identity, "delta", f"{LAKE}/{identity}")


def of(*names: str, kind: type[ListedCatalog] = ListedCatalog) -> ListedCatalog:
    """A catalog whose schema `eu` has some tables."""
    return kind({"eu": {name: table(f"id of {name}") for name in names}})


def whole(catalog: ListedCatalog) -> SchemaTables:
    return SchemaTables(InMemory({"main": catalog}).instances)


async def listed(schemas: SchemaTables, **options: Any) -> list[SharedTable]:
    source = replace(SOURCE, **options)
    return list((await schemas.tables(replace(SCHEMA, source=source), source)).ordered)


async def found(schemas: SchemaTables, name: str, **options: Any) -> SharedTable | None:
    source = replace(SOURCE, **options)
    return await schemas.table(replace(SCHEMA, source=source), source, name)


async def test_tables_are_sorted_and_have_the_options_of_the_schema() -> None:
    options = {
        **{"comment": "hourly", "history": True, "change_feed": True, "start_version": 3},
        **{"partition_filter": "a = 1", "access_modes": ("dir",)},
    }
    orders, visits = await listed(whole(of("visits", "Orders")), **options)
    assert (orders.name, visits.name) == ("Orders", "visits")
    assert {name: getattr(orders, name) for name in options} == options
    named = (orders.share, orders.share_id, orders.schema, orders.catalog, orders.identifier)
    assert named == ("sales", "s1", "europe", "main", "eu.Orders")


@pytest.mark.parametrize(
    ("names", "options", "shown", "logged"),
    [
        (("a", "b"), {"include": ("A",)}, ["a"], ""),
        (("a", "b"), {"exclude": ("*",)}, [], "sales.europe has 0 tables: include and exclude select"),
        ((), {}, [], "schema sales.europe has 0 tables: the catalog lists none"),
        (("a b", "c"), {}, ["c"], "table 'a b' of sales.europe is not shared: a table's name cannot"),
        (("a b",), {}, [], "table 'a b' of sales.europe is not shared"),
        (("a b",), {"alias": "_"}, ["a_b"], ""),
        (
            ("a", "A"),
            {},
            [],
            "table 'A' of sales.europe is not shared: recipients would see it and 'a'",
        ),
    ],
)
async def test_patterns_and_names_choose_the_tables_and_warnings_are_logged_once(
    caplog: pytest.LogCaptureFixture,
    names: tuple[str, ...],
    options: dict[str, Any],
    shown: list[str],
    logged: str,
) -> None:
    schemas = whole(of(*names))
    assert [each.name for each in await listed(schemas, **options)] == shown
    once = len(caplog.records)
    await listed(schemas, **options)
    assert logged in caplog.text
    assert (len(caplog.records), bool(once)) == (once, bool(logged))


async def test_a_listing_is_built_again_only_if_the_catalog_or_the_schema_changed() -> None:
    catalog = of("a")
    schemas = whole(catalog)
    first = await schemas.tables(SCHEMA, SOURCE)
    assert await schemas.tables(SCHEMA, SOURCE) is first
    renamed = replace(SCHEMA, name="eu")
    assert [each.schema for each in (await schemas.tables(renamed, SOURCE)).ordered] == ["eu"]
    catalog.schemas["eu"] = {"a": table("id of a"), "b": table("new")}
    assert [each.name for each in await listed(schemas)] == ["a", "b"]


async def test_a_table_keeps_its_id_when_it_is_renamed_and_not_when_it_is_created_anew() -> None:
    catalog = of("a")
    schemas = whole(catalog)
    [first] = await listed(schemas)
    catalog.schemas["eu"] = {"b": table("id of a")}
    [renamed] = await listed(schemas)
    catalog.schemas["eu"] = {"b": table("other")}
    [anew] = await listed(schemas)
    assert (renamed.name, renamed.id) == ("b", first.id)
    assert anew.id != first.id


async def test_without_ids_of_the_catalog_tables_are_identified_by_name() -> None:
    class WithoutIds(ListedCatalog):
        listed_tables = Catalog.listed_tables

    ids = [{each.id for each in await listed(whole(of("a", "b", kind=WithoutIds)))} for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 2


@pytest.mark.parametrize("kind", [ListedCatalog, ByName])
async def test_a_table_is_found_in_any_capitalization_and_is_the_listed_one(
    kind: type[ListedCatalog],
) -> None:
    schemas = whole(of("Orders", kind=kind))
    before = await found(schemas, "ORDERS")
    [orders] = await listed(schemas)
    assert before == await found(schemas, "orders") == orders
    assert await found(schemas, "nothing") is None


async def test_a_catalog_that_finds_by_name_is_not_listed() -> None:
    catalog = of("orders", kind=ByName)
    table = await found(whole(catalog), "orders")
    assert table is not None
    assert (catalog.lookups, catalog.listings) == (["eu.orders"], 0)


@pytest.mark.parametrize(("name", "options"), [("orders", {"exclude": ("o*",)}), ("a b", {})])
async def test_a_table_that_is_not_shared_is_not_looked_up(name: str, options: dict[str, Any]) -> None:
    catalog = of(name, kind=ByName)
    assert await found(whole(catalog), name, **options) is None
    assert catalog.lookups == []


async def test_the_name_before_an_alias_is_known_from_the_listing() -> None:
    catalog = of("a b", kind=ByName)
    schemas = whole(catalog)
    before = await found(schemas, "a_b", alias="_")
    assert catalog.lookups == []
    assert before is not None
    assert (before.name, before.identifier) == ("a_b", "eu.a b")


async def test_a_table_that_was_dropped_is_gone_although_it_is_in_the_last_listing() -> None:
    catalog = of("orders", kind=ByName)
    schemas = whole(catalog)
    await listed(schemas)
    catalog.schemas["eu"] = {}
    assert await found(schemas, "orders") is None


@pytest.mark.parametrize("failure", [NotFound("no"), InvalidRequest("a name that it does not allow")])
async def test_if_a_lookup_finds_nothing_the_listing_decides(failure: Exception) -> None:
    class Picky(ByName):
        async def load_table(self, identifier: str) -> CatalogTable:
            raise failure

    assert await found(whole(of("orders", kind=Picky)), "orders") is not None


@pytest.mark.parametrize("kind", [Unavailable, PermissionDenied, Unauthenticated])
async def test_a_lookup_that_fails_is_temporary_and_private(kind: type[SluicegateError]) -> None:
    catalog = of("orders", kind=ByName)
    catalog.failure = kind("the gateway is denied", detail=WORDS)
    with pytest.raises(
        Unavailable, match=r"^the table sales.europe.orders cannot be looked up"
    ) as error:
        await found(whole(catalog), "orders")
    assert WORDS in (error.value.detail or "")


@pytest.mark.parametrize(
    ("failure", "expected", "message"),
    [
        (NotFound("no schema", detail=WORDS), NotFound, "the schema sales.europe no longer exists"),
        (Unavailable("down", detail=WORDS), Unavailable, "sales.europe cannot be listed now"),
        (PermissionDenied("no", detail=WORDS), Unavailable, "sales.europe cannot be listed now"),
        (Unauthenticated("no", detail=WORDS), Unavailable, "sales.europe cannot be listed now"),
        (InvalidRequest("no", detail=WORDS), Unavailable, "sales.europe cannot be listed now"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
async def test_failures_of_a_listing(
    failure: Exception, expected: type[SluicegateError], message: str
) -> None:
    catalog = of("orders")
    catalog.failure = failure
    with pytest.raises(expected, match=message) as error:
        await listed(whole(catalog))
    assert WORDS in (error.value.detail or "")


class WithView(ListedCatalog):
    """A catalog whose schema `eu` also has the view `report`."""

    async def load_table(self, identifier: str) -> CatalogTable:
        loaded = await super().load_table(identifier)
        if identifier == "eu.report":
            raise UnsupportedOperation("it is a view")
        return loaded

    async def list_tables(self, schema: str) -> list[str]:
        return [name for name in await super().list_tables(schema) if name != "report"]


async def test_a_view_is_not_listed_and_is_found_for_its_reason() -> None:
    schemas = whole(of("orders", "report", kind=WithView))
    assert [each.name for each in await listed(schemas)] == ["orders"]
    view = await found(schemas, "report")
    assert (view and view.identifier) == "eu.report"
    assert await found(schemas, "gone") is None


@pytest.mark.parametrize("options", [{"exclude": ("r*",)}, {"include": ("orders",)}])
async def test_a_view_that_the_patterns_do_not_choose_is_not_looked_up(options: dict[str, Any]) -> None:
    catalog = of("orders", "report", kind=WithView)
    assert await found(whole(catalog), "report", **options) is None
    assert catalog.lookups == []


@pytest.mark.parametrize("kind", [Unavailable, PermissionDenied, NotFound])
async def test_a_name_that_is_not_listed_and_cannot_be_looked_up_is_missing(
    kind: type[SluicegateError],
) -> None:
    class Failing(ListedCatalog):
        async def load_table(self, identifier: str) -> CatalogTable:
            raise kind("no")

    assert await found(whole(of("orders", kind=Failing)), "report") is None


async def test_a_schema_of_a_catalog_that_is_not_configured_any_more_is_gone() -> None:
    with pytest.raises(NotFound, match=r"^the schema sales.europe no longer exists$") as error:
        await listed(whole(of("orders")), catalog="other")
    assert error.value.detail == "there is no catalog named 'other' in the configuration"


async def test_tables_have_the_tags_of_their_schema_and_share() -> None:
    schemas = whole(of("orders", kind=ByName))
    share = replace(SCHEMA.share, tags={"region": "us", "owner": "sales"})
    tagged = replace(SCHEMA, share=share, tags={"region": "eu"})
    looked_up = await schemas.table(tagged, SOURCE, "orders")
    assert looked_up is not None
    assert looked_up.tags == {"region": "eu", "owner": "sales"}
    [in_listing] = (await schemas.tables(tagged, SOURCE)).ordered
    assert in_listing == looked_up
    [other] = (await schemas.tables(replace(tagged, tags={}), SOURCE)).ordered
    assert other.tags == {"region": "us", "owner": "sales"}


class AnyCase(ByName):
    """A catalog whose lookups ignore case."""

    async def load_table(self, identifier: str) -> CatalogTable:
        return replace(await super().load_table(identifier.lower()), name=identifier[3:].lower())


async def test_recipients_do_not_choose_the_case_of_a_name() -> None:
    """Policies decide by name."""
    schemas = whole(of("orders", kind=AnyCase))
    spelled = await found(schemas, "ORDERS")
    assert spelled is not None
    assert (spelled.name, spelled.identifier) == ("orders", "eu.orders")
    assert spelled == await found(schemas, "orders")


async def test_a_table_has_the_same_tags_in_a_listing_and_when_it_is_looked_up() -> None:
    class Tagging(ByName):
        async def listed_tables(self, schema: str) -> list[ListedTable]:
            return [ListedTable("orders", "id of orders", tags=tags)]

        async def load_table(self, identifier: str) -> CatalogTable:
            return replace(await super().load_table(identifier), tags=tags)

    tags = {"class": "secret", "region": "asia"}
    schemas = whole(of("orders", kind=Tagging))
    looked_up = await schemas.table(TAGGED, SOURCE, "orders")
    assert looked_up is not None
    # What the provider declares takes precedence.
    assert looked_up.tags == {"class": "secret", "region": "eu"}
    assert (await schemas.tables(TAGGED, SOURCE)).ordered == (looked_up,)
