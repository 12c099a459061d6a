from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import anyio.to_thread
import pytest

from sluicegate.api import Storage
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.storage import GCSStorage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.google.fake_gcs import FakeGCS
from sluicegate_testing.storage import Put, StorageBehaviour


def connected(server: FakeGCS, endpoint: str, signing: Mapping[str, Any]) -> GCSStorage:
    key = json.loads(server.service_account_key)
    config = GCSConfig.model_validate(
        {
            "prefix": f"gs://{server.bucket}/conformance/",
            "endpoint": endpoint,
            "iam_endpoint": endpoint,
            "sts_endpoint": endpoint,
            "service_account_key": json.dumps({**key, "token_uri": f"{endpoint}/token"}),
            "vending": True,
            **signing,
        }
    )
    return GCSStorage.configured(config, FakeContext())


class TestGCS(StorageBehaviour):
    unchecked: ClassVar[Mapping[str, str]] = {
        "sibling": "the fake does not evaluate access boundaries; test_vending.py compares them",
        "write": "the same: a boundary also takes the writing",
    }

    @pytest.fixture
    def signing(self, server: FakeGCS) -> dict[str, Any]:
        return {}

    @pytest.fixture
    def storage(self, server: FakeGCS, signing: dict[str, Any]) -> Storage:
        return connected(server, server.endpoint, signing)

    @pytest.fixture
    def failing(
        self, server: FakeGCS, signing: dict[str, Any], failing_servers: Mapping[str, str]
    ) -> Mapping[str, Storage]:
        if signing:  # the same as without an HMAC key
            return {}
        return {how: connected(server, url, signing) for how, url in failing_servers.items()}

    @pytest.fixture
    def put(self, server: FakeGCS) -> Put:
        async def put(location: str, content: bytes) -> None:
            key = location.removeprefix(f"gs://{server.bucket}/")
            await anyio.to_thread.run_sync(server.put, key, content)

        return put

    @pytest.fixture
    def secrets(self, server: FakeGCS) -> Sequence[str]:
        return [server.hmac_secret, "PRIVATE KEY"]


class TestGCSWithAnHmacKey(TestGCS):
    @pytest.fixture
    def signing(self, server: FakeGCS) -> dict[str, Any]:
        return {"hmac_access_id": server.hmac_access_id, "hmac_secret": server.hmac_secret}
