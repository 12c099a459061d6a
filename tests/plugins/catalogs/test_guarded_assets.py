"""Assets of a catalog that is slow, down, or wrong: what requests get, and how often it is asked."""

from __future__ import annotations

from collections import Counter

import pytest

from sluicegate.api import (
    AssetKind,
    AssetPage,
    Catalog,
    CatalogAsset,
    CatalogConfig,
    ListedAsset,
    ModelVersion,
    NotFound,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate_testing.fakes import MemoryCatalog

MANUALS = CatalogAsset("v-1", "memory://lake/manuals")


class Upstream(MemoryCatalog):
    """A catalog whose assets a test changes, and which counts its questions."""

    def __init__(self) -> None:
        self.assets: dict[tuple[AssetKind, str], CatalogAsset] = {
            ("volume", "eu.manuals"): MANUALS,
            ("model", "eu.churn"): CatalogAsset("m-1", None),
        }
        self.versions = [ModelVersion(1, "READY", "memory://lake/churn/1")]
        super().__init__({}, self.assets, {"eu.churn": self.versions})
        self.asked: Counter[str] = Counter()
        self.failure: Exception | None = None
        self.pages: dict[str | None, tuple[list[str], str | None]] = {}
        self.fails_at: str | None = None
        self.tokens: list[str | None] = []

    async def asset_page(self, kind: AssetKind, schema: str, token: str | None) -> AssetPage:
        self.asked[f"{kind}s"] += 1
        self.tokens.append(token)
        if self.failure is not None:
            raise self.failure
        if token is not None and token == self.fails_at:
            raise Unavailable(f"page {token} is down")
        if not self.pages:
            return await super().asset_page(kind, schema, token)
        names, following = self.pages[token]
        return AssetPage([ListedAsset(name) for name in names], following)

    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        self.asked[kind] += 1
        if self.failure is not None:
            raise self.failure
        return await super().load_asset(kind, identifier)


@pytest.fixture
def now() -> list[float]:
    return [1000.0]


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture
def guarded(upstream: Upstream, now: list[float]) -> GuardedCatalog:
    config = CatalogConfig.model_validate({"max_age": 10, "stale_while_revalidate": 0})
    return GuardedCatalog("main", upstream, config, lambda: now[0])


async def test_an_asset_is_looked_up_once_for_max_age(
    guarded: GuardedCatalog, upstream: Upstream, now: list[float]
) -> None:
    for now[0] in (1000.0, 1009.9):
        assert await guarded.load_asset("volume", "eu.manuals") == MANUALS
    assert upstream.asked["volume"] == 1
    now[0] = 1010.0
    await guarded.load_asset("volume", "eu.manuals")
    assert upstream.asked["volume"] == 2


async def test_kinds_have_separate_names(guarded: GuardedCatalog) -> None:
    await guarded.load_asset("volume", "eu.manuals")
    with pytest.raises(NotFound):
        await guarded.load_asset("skill", "eu.manuals")


async def test_versions_are_listed_once_for_max_age(
    guarded: GuardedCatalog, upstream: Upstream, now: list[float]
) -> None:
    assert await guarded.model_versions("eu.churn") == upstream.versions
    upstream.versions.append(ModelVersion(2, "READY", "memory://lake/churn/2"))
    assert len(await guarded.model_versions("eu.churn")) == 1
    now[0] = 1010.0
    assert len(await guarded.model_versions("eu.churn")) == 2


async def test_an_error_that_is_not_of_the_api_is_unavailable(
    guarded: GuardedCatalog, upstream: Upstream
) -> None:
    upstream.failure = RuntimeError("private")
    for call in (guarded.load_asset("volume", "eu.manuals"), guarded.model_versions("eu.churn")):
        with pytest.raises(Unavailable) as failed:
            await call
        assert "private" not in failed.value.message


@pytest.mark.parametrize(
    ("identity", "location"),
    [("", "memory://lake/m"), ("v", "lake/m"), ("v", ""), ("v", "memory://lake/m/")],
)
async def test_an_asset_without_an_id_or_location_is_not_used(
    guarded: GuardedCatalog, upstream: Upstream, identity: str, location: str
) -> None:
    upstream.assets["volume", "eu.manuals"] = CatalogAsset(identity, location)
    with pytest.raises(Unavailable, match="does not say where the volume is"):
        await guarded.load_asset("volume", "eu.manuals")


async def test_a_model_needs_no_location_but_its_versions_do(
    guarded: GuardedCatalog, upstream: Upstream
) -> None:
    assert (await guarded.load_asset("model", "eu.churn")).location is None
    upstream.versions[:] = [ModelVersion(1, "READY", "churn/1")]
    with pytest.raises(Unavailable, match="does not say where the version 1 of the model is"):
        await guarded.model_versions("eu.churn")


async def test_a_catalog_has_no_assets_by_default() -> None:
    catalog = MemoryCatalog({})
    for kind in ("volume", "model", "skill"):
        with pytest.raises(NotFound):
            await super(MemoryCatalog, catalog).load_asset(kind, "x")
    with pytest.raises(NotFound):
        await super(MemoryCatalog, catalog).model_versions("x")


async def test_assets_are_listed_once_for_max_age_and_kind(
    guarded: GuardedCatalog, upstream: Upstream, now: list[float]
) -> None:
    for now[0] in (1000.0, 1009.9):
        volumes = await guarded.listed_assets("volume", "eu")
        assert [each.name for each in volumes] == ["manuals"]
        assert [each.name for each in await guarded.listed_assets("model", "eu")] == ["churn"]
        assert await guarded.listed_assets("volume", "eu") is volumes
    assert (upstream.asked["volumes"], upstream.asked["models"]) == (1, 1)
    now[0] = 1010.0
    await guarded.listed_assets("volume", "eu")
    assert upstream.asked["volumes"] == 2


async def test_a_listing_of_assets_that_fails_is_unavailable_and_continued(
    guarded: GuardedCatalog, upstream: Upstream, now: list[float]
) -> None:
    upstream.pages = {None: (["b"], "2"), "2": (["a"], None)}
    upstream.failure = RuntimeError("bug")
    with pytest.raises(Unavailable, match="the catalog 'main' cannot be used now"):
        await guarded.listed_assets("volume", "eu")
    upstream.failure, upstream.fails_at = None, "2"
    now[0] += 2
    with pytest.raises(Unavailable, match="page 2"):
        await guarded.listed_assets("volume", "eu")
    upstream.fails_at = None
    now[0] += 2
    assert [each.name for each in await guarded.listed_assets("volume", "eu")] == ["a", "b"]
    assert upstream.tokens == [None, None, "2", "2"]


async def test_a_listing_of_assets_that_does_not_end_is_given_up(
    guarded: GuardedCatalog, upstream: Upstream
) -> None:
    upstream.pages = {None: (["a"], "again"), "again": (["b"], "again")}
    with pytest.raises(Unavailable, match="does not respond as expected"):
        await guarded.listed_assets("volume", "eu")


async def test_a_missing_schema_and_an_unsupported_kind_are_refused(guarded: GuardedCatalog) -> None:
    with pytest.raises(NotFound):
        await guarded.listed_assets("volume", "gone")
    plain = GuardedCatalog("plain", WithoutAssets({}), CatalogConfig.model_validate({}))
    with pytest.raises(UnsupportedOperation, match="the catalog cannot list volumes"):
        await plain.listed_assets("volume", "eu")
    assert plain.asset_identifier("volume", "eu", "manuals") == "eu.manuals"


class WithoutAssets(MemoryCatalog):
    """A catalog that cannot list assets."""

    listed_assets = Catalog.listed_assets
