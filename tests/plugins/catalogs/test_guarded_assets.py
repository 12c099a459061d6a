"""Assets of a catalog that is slow, down, or wrong: what requests get, and how often it is asked."""

from __future__ import annotations

from collections import Counter

import pytest

from sluicegate.api import (
    AssetKind,
    CatalogAsset,
    CatalogConfig,
    ModelVersion,
    NotFound,
    Unavailable,
)
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate.testing.fakes import MemoryCatalog

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
