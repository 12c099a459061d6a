"""Assets of a schema that is shared entirely: listed, found by name, and their failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.in_memory import InMemory, ListedCatalog
from support.gateways.memory_grants import ACME, MemoryGrants
from support.gateways.memory_instances import LAKE

from sluicegate.api import (
    AssetKind,
    Catalog,
    CatalogAsset,
    CatalogTable,
    ListedAsset,
    NotFound,
    Schema,
    Share,
    SharedAsset,
    SharedCatalogSource,
    SharedSchemaSource,
    Unavailable,
)
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.assets.resolver import AssetName, AssetResolver, SchemaAssets

SOURCE = SharedSchemaSource("main", "eu", kinds=("tables", "volumes", "models"))
SHARE = Share("s1", "sales")
SCHEMA = Schema("e", SHARE, "europe", source=SOURCE)
NAMED = AssetName("volume", "sales", "europe", "manuals")


class Assets(ListedCatalog):
    """A catalog whose schema `eu` has some volumes and a model."""

    def __init__(self, *volumes: str) -> None:
        super().__init__({"eu": {"orders": CatalogTable("t", "delta", f"{LAKE}/orders")}, "us": {}})
        self._assets: dict[tuple[AssetKind, str], CatalogAsset] = {
            ("volume", f"eu.{name}"): CatalogAsset(f"id of {name}", f"{LAKE}/{name}")
            for name in volumes
        }
        self._assets["model", "eu.churn"] = CatalogAsset("m", f"{LAKE}/churn", comment="Who leaves")
        self.asked: list[str] = []

    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        self._respond()
        return await super().listed_assets(kind, schema)

    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        self.asked.append(identifier)
        if self.failure is not None:
            raise self.failure
        return await super().load_asset(kind, identifier)


class ByName(Assets):
    """A catalog that looks up assets by name."""

    finds_by_name = True


def found_in(
    catalog: Catalog,
    *schemas: Schema,
    share: Share = SHARE,
    assets: Mapping[str, list[SharedAsset]] | None = None,
) -> AssetResolver:
    memory = InMemory({"main": catalog})
    grants = MemoryGrants([share], schemas or (() if share.source else (SCHEMA,)), assets=assets)
    return AssetResolver(grants, Resolver(grants, memory.instances, memory.vending), memory.instances)


async def names(resolver: AssetResolver, kind: AssetKind = "volume", **options: Any) -> list[str]:
    schema = replace(SCHEMA, source=replace(SOURCE, **options))
    return [asset.name for asset in await resolver.assets(schema, kind)]


async def test_assets_are_sorted_and_described_by_their_catalog() -> None:
    resolver = found_in(Assets("notes", "Manuals"))
    manuals, notes = await resolver.assets(SCHEMA, "volume")
    [churn] = await resolver.assets(SCHEMA, "model")
    assert (manuals.name, notes.name) == ("Manuals", "notes")
    assert (manuals.full_name, manuals.share_id) == ("sales.europe.Manuals", "s1")
    assert (manuals.catalog, manuals.identifier) == ("main", "eu.Manuals")
    assert (manuals.listed_location, manuals.access_modes) == (f"{LAKE}/Manuals", ("dir",))
    assert (churn.kind, churn.comment, churn.versions) == ("model", "Who leaves", None)


async def test_a_listing_is_built_once_for_each_answer_of_the_catalog() -> None:
    catalog = Assets("notes")
    assets = SchemaAssets("volume", InMemory({"main": catalog}).instances)
    first = await assets.all(SCHEMA, SOURCE)
    assert await assets.all(SCHEMA, SOURCE) is first
    assert list(first.by_key) == [each.name for each in first.ordered] == ["notes"]
    commented = replace(SCHEMA, comment="of Europe")
    assert await assets.all(commented, SOURCE) is not first


@pytest.mark.parametrize("kinds", [("tables",), ("models",)])
async def test_what_is_not_one_of_the_kinds_is_not_shared_and_not_listed(kinds: Any) -> None:
    catalog = ByName("manuals")
    schema = replace(SCHEMA, source=replace(SOURCE, kinds=kinds))
    resolver = found_in(catalog, schema)
    assert await resolver.assets(schema, "volume") == []
    assert await resolver.all_assets(ACME, "sales", "volume") == []
    with pytest.raises(NotFound, match=r"there is no volume 'manuals' in sales\.europe"):
        await resolver.asset(ACME, NAMED)
    assert (catalog.listings, catalog.asked) == (0, [])


async def test_options_of_tables_do_not_apply_to_assets() -> None:
    options: dict[str, Any] = {
        "comment": "hourly",
        "history": True,
        "start_version": 3,
        "access_modes": ("url",),
    }
    schema = replace(SCHEMA, source=replace(SOURCE, **options))
    [churn] = await found_in(Assets(), schema).assets(schema, "model")
    assert (churn.comment, churn.history, churn.start_version) == ("Who leaves", False, 0)
    assert churn.access_modes == ("dir",)


@pytest.mark.parametrize(
    ("volumes", "options", "shown", "logged"),
    [
        (("a", "b"), {"include": ("A",)}, ["a"], ""),
        (("a", "b"), {"exclude": ("*",)}, [], ""),
        ((), {}, [], ""),
        (("a b", "c"), {}, ["c"], "volume 'a b' of sales.europe is not shared: a volume's name cannot"),
        (("a/b",), {}, [], "contain a slash; set alias: '_' to share it as 'a_b'"),
        (("a/b",), {"alias": "_"}, ["a_b"], ""),
        (("x" * 256,), {}, [], "cannot be longer than 255 characters"),
        ((".",), {}, [], "a volume's name cannot"),
        (
            ("a", "A"),
            {},
            [],
            "volume 'A' of sales.europe is not shared: recipients would see it and 'a'",
        ),
    ],
)
async def test_patterns_and_names_choose_the_assets(
    caplog: pytest.LogCaptureFixture,
    volumes: tuple[str, ...],
    options: dict[str, Any],
    shown: list[str],
    logged: str,
) -> None:
    assert await names(found_in(Assets(*volumes)), **options) == shown
    assert logged in caplog.text
    assert bool(caplog.records) == bool(logged)


async def test_the_oldest_of_two_names_that_differ_in_case_is_shared() -> None:
    class Aged(Assets):
        async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
            return [ListedAsset("A", "1", 2), ListedAsset("a", "2", 1), ListedAsset("b", "3", 9)]

    assert await names(found_in(Aged())) == ["a", "b"]


async def test_a_name_that_is_listed_twice_is_shared_once() -> None:
    class Twice(Assets):
        async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
            return [ListedAsset("a", "1"), ListedAsset("a", "1")]

    assert await names(found_in(Twice())) == ["a"]


async def test_many_assets_are_listed_and_found() -> None:
    class Many(Assets):
        async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
            self._respond()
            return [ListedAsset(f"v{number:06}", str(number)) for number in range(100_000)]

    catalog = Many()
    resolver = found_in(catalog)
    listed = await resolver.assets(SCHEMA, "volume")
    assert (len(listed), listed[-1].name) == (100_000, "v099999")
    found = await resolver.asset(ACME, replace(NAMED, name="V012345"))
    assert found is listed[12_345]


@pytest.mark.parametrize("kind", [Assets, ByName])
async def test_an_asset_is_found_in_any_capitalization_and_is_the_listed_one(
    kind: type[Assets],
) -> None:
    resolver = found_in(kind("Manuals"))
    before = await resolver.asset(ACME, replace(NAMED, name="MANUALS"))
    [listed] = await resolver.assets(SCHEMA, "volume")
    assert before == await resolver.asset(ACME, NAMED) == listed
    churn = replace(NAMED, kind="model", name="churn")
    assert await resolver.asset(ACME, churn) == (await resolver.assets(SCHEMA, "model"))[0]
    with pytest.raises(NotFound):
        await resolver.asset(ACME, replace(NAMED, name="nothing"))


async def test_a_catalog_that_finds_by_name_is_not_listed() -> None:
    catalog = ByName("manuals")
    await found_in(catalog).asset(ACME, NAMED)
    assert (catalog.asked, catalog.listings) == (["eu.manuals"], 0)


async def test_an_asset_that_was_dropped_is_gone_although_it_was_listed() -> None:
    catalog = ByName("manuals")
    resolver = found_in(catalog)
    await resolver.assets(SCHEMA, "volume")
    del catalog._assets["volume", "eu.manuals"]
    with pytest.raises(NotFound):
        await resolver.asset(ACME, NAMED)


async def test_ids_of_kinds_differ_and_belong_to_the_catalogs_ids() -> None:
    class Same(Assets):
        async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
            return [ListedAsset("a", "same")]

    resolver = found_in(Same())
    [volume] = await resolver.assets(SCHEMA, "volume")
    [model] = await resolver.assets(SCHEMA, "model")
    assert volume.id != model.id
    [again] = await found_in(Same()).assets(SCHEMA, "volume")
    assert again.id == volume.id


async def test_a_declared_asset_replaces_the_one_of_the_catalog() -> None:
    declared = SharedAsset("d", "sales", "s1", "europe", "MANUALS", "raw", "s3://lake/x")
    resolver = found_in(Assets("manuals", "notes"), assets={"e": [declared]})
    for listed in (
        await resolver.assets(SCHEMA, "volume"),
        await resolver.all_assets(ACME, "sales", "volume"),
    ):
        assert [(each.name, each.catalog) for each in listed] == [("MANUALS", "raw"), ("notes", "main")]
    assert await resolver.asset(ACME, NAMED) is declared


async def test_a_catalog_that_is_down_takes_only_its_own_assets() -> None:
    catalog = Assets("notes")
    declared = SharedAsset("d", "sales", "s1", "europe", "manuals", "raw", "s3://lake/x")
    resolver = found_in(catalog, assets={"e": [declared]})
    catalog.failure = Unavailable("down", detail="pq: db-7.internal")
    assert await resolver.all_assets(ACME, "sales", "volume") == [declared]
    assert await resolver.asset(ACME, NAMED) is declared
    with pytest.raises(Unavailable, match=r"sales\.europe cannot be listed now") as error:
        await resolver.assets(SCHEMA, "volume")
    assert "db-7" not in error.value.message
    with pytest.raises(Unavailable):
        await resolver.asset(ACME, replace(NAMED, name="notes"))


async def test_a_catalog_that_cannot_list_assets_is_a_failure_of_the_gateway() -> None:
    class WithoutAssets(Assets):
        listed_assets = Catalog.listed_assets

    resolver = found_in(WithoutAssets("manuals"))
    with pytest.raises(Unavailable, match="cannot be listed now") as error:
        await resolver.assets(SCHEMA, "volume")
    assert "the catalog cannot list volumes" in (error.value.detail or "")
    assert await resolver.all_assets(ACME, "sales", "volume") == []


async def test_a_schema_that_the_catalog_no_longer_has_is_not_found() -> None:
    resolver = found_in(Assets("manuals"))
    with pytest.raises(NotFound, match=r"the schema sales\.europe no longer exists"):
        await names(resolver, schema="gone")


@pytest.mark.parametrize("kinds", [("volumes",), ("tables", "volumes")])
async def test_a_share_of_a_catalog_has_the_assets_of_all_schemas(kinds: Any) -> None:
    catalog = Assets("manuals")
    catalog._assets["volume", "us.forms"] = CatalogAsset("f", f"{LAKE}/forms")
    share = Share("s1", "sales", source=SharedCatalogSource("main", kinds=kinds))
    resolver = found_in(catalog, share=share)
    found = await resolver.all_assets(ACME, "sales", "volume")
    assert [(each.schema, each.name) for each in found] == [("eu", "manuals"), ("us", "forms")]
    assert await resolver.all_assets(ACME, "sales", "model") == []
    forms = AssetName("volume", "sales", "US", "Forms")
    assert (await resolver.asset(ACME, forms)).id == found[1].id


async def test_a_share_without_the_kind_does_not_query_its_catalog() -> None:
    catalog = Assets("manuals")
    share = Share("s1", "sales", source=SharedCatalogSource("main"))
    assert await found_in(catalog, share=share).all_assets(ACME, "sales", "volume") == []
    assert catalog.listings == 0


async def test_without_tables_among_the_kinds_a_schema_has_its_declared_tables() -> None:
    memory = InMemory({"main": Assets("manuals")})
    schema = replace(SCHEMA, source=replace(SOURCE, kinds=("volumes",)))
    grants = MemoryGrants([SHARE], [schema])
    resolver = Resolver(grants, memory.instances, memory.vending)
    assert await resolver.tables(schema) == ()
    assert await resolver.all_tables(ACME, "sales") == []
    with pytest.raises(NotFound, match=r"there is no table 'orders' in sales\.europe"):
        await resolver.table(ACME, "sales", "europe", "orders")


async def test_recipients_do_not_choose_the_case_of_a_name() -> None:
    class AnyCase(ByName):
        async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
            found = await super().load_asset(kind, identifier.lower())
            return replace(found, name=identifier[3:].lower())

    resolver = found_in(AnyCase("manuals"))
    spelled = await resolver.asset(ACME, replace(NAMED, name="MANUALS"))
    assert (spelled.name, spelled.identifier) == ("manuals", "eu.manuals")
