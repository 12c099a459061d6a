from __future__ import annotations

from collections.abc import Mapping

import anyio
import pytest

from sluicegate.api import AssetKind, Catalog, NotFound, Storage
from sluicegate_paths.catalog import PathsCatalog
from sluicegate_paths.config import PathsConfig
from sluicegate_testing.assets import AssetBehaviour, ExpectedAsset, ExpectedAssets
from sluicegate_testing.fakes import FakeContext, MemoryStorage
from sluicegate_testing.servers.failing import failing_store

LAKE = "memory://lake/"
FOLDERS = ("churn/1", "churn/2", "churn/10", "churn/010", "churn/v3", "churn/_tmp", "churn/²")


def over(storage: Storage) -> PathsCatalog:
    return PathsCatalog(PathsConfig(), FakeContext(storage=[storage]))


class TestAssets(AssetBehaviour):
    @pytest.fixture
    def catalog(self) -> Catalog:
        storage = MemoryStorage(LAKE)
        for folder in FOLDERS:
            anyio.run(storage.put, f"{LAKE}{folder}/model.bin", b"{}")
        anyio.run(storage.put, f"{LAKE}churn/7", b"a file is no version")
        return over(storage)

    @pytest.fixture
    def expected_assets(self) -> ExpectedAssets:
        versions = {number: f"{LAKE}churn/{number}" for number in (1, 2, 10)}
        return {
            ("volume", f"{LAKE}manuals"): ExpectedAsset(f"{LAKE}manuals"),
            ("model", f"{LAKE}churn"): ExpectedAsset(f"{LAKE}churn", versions),
            ("skill", f"{LAKE}sql-style"): ExpectedAsset(f"{LAKE}sql-style"),
        }

    @pytest.fixture
    def missing_assets(self) -> Mapping[AssetKind, str]:
        # Every location can be an asset. Whether it is one is known when it is read.
        return dict.fromkeys(("volume", "model", "skill"), "no_such_asset")

    @pytest.fixture
    def failing(self, failing_servers: Mapping[str, str]) -> Mapping[str, Catalog]:
        return {
            how: over(MemoryStorage(LAKE, store=failing_store(url)))
            for how, url in failing_servers.items()
        }


@pytest.mark.parametrize("identifier", ["manuals", "s3://lake/../other", "s3:///x", "file:///"])
async def test_only_a_location_identifies_an_asset(identifier: str) -> None:
    catalog = over(MemoryStorage(LAKE))
    with pytest.raises(NotFound, match="not a valid location"):
        await catalog.load_asset("volume", identifier)
    with pytest.raises(NotFound, match="the model's identifier"):
        await catalog.model_versions(identifier)


async def test_all_spellings_of_a_location_are_one_asset() -> None:
    catalog = over(MemoryStorage(LAKE))
    found = [await catalog.load_asset("volume", f"{LAKE}manuals{end}") for end in ("", "/")]
    assert found[0] == found[1]
