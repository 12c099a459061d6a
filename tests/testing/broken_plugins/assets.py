"""A catalog of assets with one mistake in each suite; `caught_by` names the check that must find it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar
from uuid import uuid4

import pytest

from sluicegate.api import (
    AssetKind,
    AssetPage,
    Catalog,
    CatalogAsset,
    ListedAsset,
    ModelVersion,
    NotFound,
)
from sluicegate_testing.assets import (
    AssetBehaviour,
    ExpectedAsset,
    ExpectedAssets,
    ExpectedListings,
)
from sluicegate_testing.fakes import MemoryCatalog

LAKE = "memory://lake"
ASSETS: dict[tuple[AssetKind, str], CatalogAsset] = {
    ("volume", "eu.manuals"): CatalogAsset("v1", f"{LAKE}/manuals"),
    ("volume", "eu.notes"): CatalogAsset("v2", f"{LAKE}/notes"),
    ("model", "eu.churn"): CatalogAsset("m1", f"{LAKE}/churn"),
    ("skill", "eu.style"): CatalogAsset("s1", f"{LAKE}/style"),
}
VERSIONS = [ModelVersion(number, "READY", f"{LAKE}/churn/{number}") for number in (2, 10)]


class Assets(MemoryCatalog):
    """A correct catalog."""

    def __init__(self) -> None:
        super().__init__({}, ASSETS, {"eu.churn": VERSIONS})


class TestAssets(AssetBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[Assets]] = Assets
    can_fail = False

    @pytest.fixture
    def catalog(self) -> Catalog:
        return self.kind()

    @pytest.fixture
    def expected_assets(self) -> ExpectedAssets:
        versions = {version.version: version.location for version in VERSIONS}
        return {
            (kind, name): ExpectedAsset(each.location, versions if kind == "model" else None)
            for (kind, name), each in ASSETS.items()
        }

    @pytest.fixture
    def expected_asset_listings(self) -> ExpectedListings:
        return {
            ("volume", "eu"): ["manuals", "notes"],
            ("model", "eu"): ["churn"],
            ("skill", "eu"): ["style"],
        }


class Unsorted(Assets):
    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        return (await super().listed_assets(kind, schema))[::-1]


class TestUnsorted(TestAssets):
    caught_by = "test_assets_are_listed_in_order"
    kind = Unsorted


class LosesAPage(Assets):
    async def asset_page(self, kind: AssetKind, schema: str, token: str | None) -> AssetPage:
        return AssetPage((await self.listed_assets(kind, schema))[:1])


class TestLosesAPage(TestAssets):
    caught_by = "test_pages_of_a_listing_have_all_its_assets"
    kind = LosesAPage


class ListsOtherLocations(Assets):
    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        found = await super().listed_assets(kind, schema)
        return [replace(each, location=f"{LAKE}/elsewhere") for each in found]


class TestListsOtherLocations(TestAssets):
    caught_by = "test_listed_assets_load_as_their_listing_describes_them"
    kind = ListsOtherLocations


class EverySchemaExists(Assets):
    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        try:
            return await super().listed_assets(kind, schema)
        except NotFound:
            return []


class TestEverySchemaExists(TestAssets):
    caught_by = "test_assets_of_an_unknown_schema_are_not_found"
    kind = EverySchemaExists


class ListsNoSkills(Assets):
    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        return [] if kind == "skill" else await super().listed_assets(kind, schema)


class TestListsNoSkills(TestAssets):
    caught_by = "test_assets_that_cannot_be_listed_are_refused"
    kind = ListsNoSkills

    @pytest.fixture
    def expected_asset_listings(self) -> ExpectedListings:
        return {("volume", "eu"): ["manuals", "notes"], ("model", "eu"): ["churn"]}


class FinalSlash(Assets):
    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        found = await super().load_asset(kind, identifier)
        return replace(found, location=f"{found.location}/")


class TestFinalSlash(TestAssets):
    caught_by = "test_every_asset_loads_from_its_identifier"
    kind = FinalSlash


class NewIds(Assets):
    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        return replace(await super().load_asset(kind, identifier), id=str(uuid4()))


class TestNewIds(TestAssets):
    caught_by = "test_ids_of_assets_stay_the_same_and_are_unique"
    kind = NewIds


class VendsByAFunction(Assets):
    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        vendor: Any = print
        return replace(await super().load_asset(kind, identifier), vendor=vendor)


class TestVendsByAFunction(TestAssets):
    caught_by = "test_an_asset_says_who_vends"
    kind = VendsByAFunction


class SortsVersionsAsText(Assets):
    async def model_versions(self, identifier: str) -> list[ModelVersion]:
        return sorted(await super().model_versions(identifier), key=lambda each: str(each.version))


class TestSortsVersionsAsText(TestAssets):
    caught_by = "test_models_have_their_versions_in_order"
    kind = SortsVersionsAsText


class FindsEverything(Assets):
    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        try:
            return await super().load_asset(kind, identifier)
        except NotFound:
            return CatalogAsset(identifier or "none", f"{LAKE}/{identifier}")


class TestFindsEverything(TestAssets):
    caught_by = "test_an_unknown_asset_is_not_found"
    kind = FindsEverything


class TestFindsOddIdentifiers(TestAssets):
    caught_by = "test_an_odd_identifier_of_an_asset_is_not_found"
    kind = FindsEverything
