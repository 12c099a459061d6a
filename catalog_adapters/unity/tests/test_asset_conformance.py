from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sluicegate.api import Catalog
from sluicegate_testing.assets import (
    AssetBehaviour,
    ExpectedAsset,
    ExpectedAssets,
    ExpectedListings,
)
from sluicegate_testing.servers.unity_catalog.unity import (
    UnityServer,
    model_info,
    version_info,
    volume_info,
)

from .conftest import Connected

SECRET = "service-token"


class TestAssets(AssetBehaviour):
    @pytest.fixture
    def catalog(self, unity: UnityServer, connected: Connected) -> Catalog:
        assets, model = unity.state.assets, "main.eu.churn"
        assets.volumes["main.eu.manuals"] = volume_info("main.eu.manuals", "file:///lake/manuals/")
        assets.models[model] = model_info(model, "file:///lake/churn")
        assets.versions[model] = [
            version_info(model, f"file:///lake/churn/{number}", number) for number in (2, 1)
        ]
        for number in range(205):
            name = f"main.many.v{number:03}"
            assets.volumes[name] = volume_info(name, f"file:///lake/many/{number}", number + 100)
        unity.state.tokens = {SECRET}
        return connected(token=SECRET)

    @pytest.fixture
    def expected_assets(self) -> ExpectedAssets:
        versions = {number: f"file:///lake/churn/{number}" for number in (1, 2)}
        return {
            ("volume", "eu.manuals"): ExpectedAsset("file:///lake/manuals"),
            ("model", "eu.churn"): ExpectedAsset("file:///lake/churn", versions),
        }

    @pytest.fixture
    def expected_asset_listings(self) -> ExpectedListings:
        return {
            ("volume", "eu"): ["manuals"],
            ("volume", "many"): [f"v{number:03}" for number in range(205)],
            ("volume", "main.eu"): ["manuals"],
            ("model", "eu"): ["churn"],
            ("model", "many"): [],
        }

    @pytest.fixture
    def failing(
        self, connected: Connected, failing_servers: Mapping[str, str]
    ) -> Mapping[str, Catalog]:
        return {how: connected(uri=url, token=SECRET) for how, url in failing_servers.items()}

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return [SECRET]
