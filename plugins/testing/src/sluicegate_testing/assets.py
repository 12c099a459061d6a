"""Tests for catalog plugins with volumes, models or skills. Inherit the suite in your tests.

class TestAssetsOfMyCatalog(AssetBehaviour):
    @pytest.fixture
    def catalog(self) -> Catalog: ...
    @pytest.fixture
    def expected_assets(self) -> ExpectedAssets: ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

import pytest
import pytest_asyncio

from sluicegate.api import (
    ASSET_KINDS,
    AssetKind,
    Catalog,
    CatalogAsset,
    CredentialVendor,
    ListedAsset,
    ModelVersion,
    NotFound,
    SluicegateError,
    UnsupportedOperation,
)
from sluicegate_testing.catalog import ODD_IDENTIFIERS
from sluicegate_testing.checks.behaviour import InstanceBehaviour, MakeCalls
from sluicegate_testing.checks.failures import Calls
from sluicegate_testing.servers.failing import SLOW


@dataclass(frozen=True)
class ExpectedAsset:
    """An asset as the catalog under test must report it.

    Attributes:
        location: Its location without a trailing slash; `None` for a model without one.
        versions: For a model, the location of each version by its number.
    """

    location: str | None
    versions: Mapping[int, str] | None = None


ExpectedAssets = Mapping[tuple[AssetKind, str], ExpectedAsset]
"""Assets by kind and identifier."""

ExpectedListings = Mapping[tuple[AssetKind, str], Collection[str]]
"""Names of assets by kind and schema."""


@pytest.mark.asyncio
class AssetBehaviour(InstanceBehaviour):
    """Inherit it as `Test…`, and provide the fixtures `catalog`, `expected_assets` and `failing`.

    If the catalog lists assets, also provide `expected_asset_listings`.
    """

    @pytest.fixture
    def catalog(self) -> Catalog:
        """The catalog under test; the suite closes it."""
        raise NotImplementedError("provide a fixture 'catalog'")

    @pytest.fixture
    def expected_assets(self) -> ExpectedAssets:
        """The assets of the catalog, at least one."""
        raise NotImplementedError(
            "provide a fixture 'expected_assets': {(kind, identifier): ExpectedAsset(location)}, and "
            "for models ExpectedAsset(location, {number: location})"
        )

    @pytest.fixture
    def expected_asset_listings(self) -> ExpectedListings:
        """The assets that the catalog lists. Empty if it cannot list assets."""
        return {}

    @pytest.fixture
    def missing_assets(self, expected_assets: ExpectedAssets) -> Mapping[AssetKind, str]:
        """Well-formed identifiers without an asset, by kind."""
        return {kind: f"{identifier}_no_such_asset" for kind, identifier in expected_assets}

    @pytest_asyncio.fixture
    async def subject(self, catalog: Catalog) -> AsyncIterator[Catalog]:
        """The catalog, closed at the end."""
        yield catalog
        await catalog.aclose()

    @pytest.fixture
    def calls(
        self, expected_assets: ExpectedAssets, expected_asset_listings: ExpectedListings
    ) -> MakeCalls:
        """Lookups and listings of existing assets."""

        def calls(catalog: Catalog) -> Calls:
            lookups: Calls = {
                f"load_asset of {kind} {identifier}": partial(catalog.load_asset, kind, identifier)
                for kind, identifier in expected_assets
            }
            versions: Calls = {
                f"model_versions of {identifier}": partial(catalog.model_versions, identifier)
                for kind, identifier in expected_assets
                if kind == "model"
            }
            listings: Calls = {
                f"listed_assets of {kind}s in {schema}": partial(catalog.listed_assets, kind, schema)
                for kind, schema in expected_asset_listings
            }
            pages: Calls = {
                f"asset_page of {kind}s in {schema}": partial(catalog.asset_page, kind, schema, None)
                for kind, schema in expected_asset_listings
            }
            return {**lookups, **versions, **listings, **pages}

        return calls

    @pytest.fixture
    def invalid_calls(self, missing_assets: Mapping[AssetKind, str]) -> MakeCalls:
        """Lookups of assets that do not exist."""

        def calls(catalog: Catalog) -> Calls:
            return {
                f"load_asset of {kind} {name[:20]!r}": partial(catalog.load_asset, kind, name)
                for kind in ASSET_KINDS
                for name in (*missing_assets.values(), *ODD_IDENTIFIERS)
            }

        return calls

    async def test_every_asset_loads_from_its_identifier(
        self, subject: Catalog, expected_assets: ExpectedAssets
    ) -> None:
        assert expected_assets, "'expected_assets' needs an asset"
        loaded = await _load_all(subject, expected_assets)
        located = {key: asset.location for key, asset in loaded.items()}
        assert located == {key: asset.location for key, asset in expected_assets.items()}

    async def test_assets_are_listed_in_order(
        self, subject: Catalog, expected_asset_listings: ExpectedListings
    ) -> None:
        listed = {
            (kind, schema): [asset.name for asset in await subject.listed_assets(kind, schema)]
            for kind, schema in expected_asset_listings
        }
        assert listed == {key: sorted(names) for key, names in expected_asset_listings.items()}

    async def test_pages_of_a_listing_have_all_its_assets(
        self, subject: Catalog, expected_asset_listings: ExpectedListings
    ) -> None:
        for kind, schema in expected_asset_listings:
            found: list[ListedAsset] = []
            token: str | None = None
            while True:
                page = await subject.asset_page(kind, schema, token)
                found += page.assets
                if (token := page.next_token) is None:
                    break
            found.sort(key=lambda asset: asset.name)
            assert found == await subject.listed_assets(kind, schema)

    async def test_listed_assets_load_as_their_listing_describes_them(
        self, subject: Catalog, expected_asset_listings: ExpectedListings
    ) -> None:
        for kind, schema in expected_asset_listings:
            for listed in await subject.listed_assets(kind, schema):
                identifier = subject.asset_identifier(kind, schema, listed.name)
                loaded = await subject.load_asset(kind, identifier)
                assert listed.id == loaded.id or (listed.id is None and not subject.finds_by_name)
                assert listed.location in (None, loaded.location)
                assert listed.comment in (None, loaded.comment)

    async def test_assets_of_an_unknown_schema_are_not_found(
        self, subject: Catalog, expected_asset_listings: ExpectedListings
    ) -> None:
        for kind in {kind for kind, _ in expected_asset_listings}:
            with pytest.raises(NotFound):
                await subject.listed_assets(kind, "no_such_schema")

    async def test_assets_that_cannot_be_listed_are_refused(
        self, subject: Catalog, expected_asset_listings: ExpectedListings
    ) -> None:
        listed = {kind for kind, _ in expected_asset_listings}
        for kind in set(ASSET_KINDS) - listed:
            with pytest.raises(UnsupportedOperation):
                await subject.listed_assets(kind, "no_such_schema")

    async def test_an_outage_is_no_empty_listing_of_assets(
        self, outages: Mapping[str, Catalog], expected_asset_listings: ExpectedListings
    ) -> None:
        for (kind, schema), names in expected_asset_listings.items():
            for how, catalog in outages.items():
                if how != SLOW:
                    listed = await _listed(catalog.listed_assets(kind, schema))
                    assert listed in (None, sorted(names))

    async def test_ids_of_assets_stay_the_same_and_are_unique(
        self, subject: Catalog, expected_assets: ExpectedAssets
    ) -> None:
        first = {key: each.id for key, each in (await _load_all(subject, expected_assets)).items()}
        again = {key: each.id for key, each in (await _load_all(subject, expected_assets)).items()}
        assert first == again
        assert all(first.values())
        assert len(set(first.values())) == len(first)

    async def test_an_asset_says_who_vends(
        self, subject: Catalog, expected_assets: ExpectedAssets
    ) -> None:
        vendors = [each.vendor for each in (await _load_all(subject, expected_assets)).values()]
        for versions in (await _versions(subject, expected_assets)).values():
            vendors += [version.vendor for version in versions]
        assert all(each is None or isinstance(each, CredentialVendor) for each in vendors)

    async def test_models_have_their_versions_in_order(
        self, subject: Catalog, expected_assets: ExpectedAssets
    ) -> None:
        found = await _versions(subject, expected_assets)
        for identifier, versions in found.items():
            located = [(version.version, version.location) for version in versions]
            expected = expected_assets["model", identifier].versions or {}
            assert located == sorted(expected.items())

    @pytest.mark.parametrize("kind", ASSET_KINDS)
    async def test_an_unknown_asset_is_not_found(
        self, subject: Catalog, missing_assets: Mapping[AssetKind, str], kind: AssetKind
    ) -> None:
        if kind not in missing_assets:
            pytest.skip(f"this catalog has no {kind}s")
        with pytest.raises(NotFound):
            await subject.load_asset(kind, missing_assets[kind])

    @pytest.mark.parametrize("identifier", ODD_IDENTIFIERS, ids=range(len(ODD_IDENTIFIERS)))
    @pytest.mark.parametrize("kind", ASSET_KINDS)
    async def test_an_odd_identifier_of_an_asset_is_not_found(
        self, subject: Catalog, kind: AssetKind, identifier: str
    ) -> None:
        with pytest.raises(NotFound):
            await subject.load_asset(kind, identifier)


async def _load_all(
    catalog: Catalog, expected: ExpectedAssets
) -> Mapping[tuple[AssetKind, str], CatalogAsset]:
    return {key: await catalog.load_asset(*key) for key in expected}


async def _listed(call: Awaitable[list[ListedAsset]]) -> list[str] | None:
    """Return the names in the listing, or `None` if the call is rejected."""
    try:
        return [asset.name for asset in await call]
    except SluicegateError:
        return None


async def _versions(catalog: Catalog, expected: ExpectedAssets) -> Mapping[str, list[ModelVersion]]:
    models = [identifier for kind, identifier in expected if kind == "model"]
    return {identifier: await catalog.model_versions(identifier) for identifier in models}
