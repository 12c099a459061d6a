"""Tests for catalog plugins with volumes, models or skills. Inherit the suite in your tests.

class TestAssetsOfMyCatalog(AssetBehaviour):
    @pytest.fixture
    def catalog(self) -> Catalog: ...
    @pytest.fixture
    def expected_assets(self) -> ExpectedAssets: ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
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
    ModelVersion,
    NotFound,
)
from sluicegate.testing.catalog import ODD_IDENTIFIERS
from sluicegate.testing.checks.behaviour import InstanceBehaviour, MakeCalls
from sluicegate.testing.checks.failures import Calls


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


@pytest.mark.asyncio
class AssetBehaviour(InstanceBehaviour):
    """Inherit it as `Test…`, and provide the fixtures `catalog`, `expected_assets` and `failing`."""

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
    def missing_assets(self, expected_assets: ExpectedAssets) -> Mapping[AssetKind, str]:
        """Well-formed identifiers without an asset, by kind."""
        return {kind: f"{identifier}_no_such_asset" for kind, identifier in expected_assets}

    @pytest_asyncio.fixture
    async def subject(self, catalog: Catalog) -> AsyncIterator[Catalog]:
        """The catalog, closed at the end."""
        yield catalog
        await catalog.aclose()

    @pytest.fixture
    def calls(self, expected_assets: ExpectedAssets) -> MakeCalls:
        """Lookups of existing assets."""

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
            return {**lookups, **versions}

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


async def _versions(catalog: Catalog, expected: ExpectedAssets) -> Mapping[str, list[ModelVersion]]:
    models = [identifier for kind, identifier in expected if kind == "model"]
    return {identifier: await catalog.model_versions(identifier) for identifier in models}
