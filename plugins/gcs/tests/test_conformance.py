from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import anyio.to_thread
import pytest

from sluicegate.api import Storage
from sluicegate.testing.fakes import FakeContext
from sluicegate.testing.servers.fake_gcs import FakeGCS
from sluicegate.testing.storage import Put, StorageBehaviour
from sluicegate_gcs.config import GCSConfig
from sluicegate_gcs.storage import GCSStorage


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
        config = GCSConfig.model_validate(
            {
                "prefix": f"gs://{server.bucket}/conformance/",
                "endpoint": server.endpoint,
                "iam_endpoint": server.endpoint,
                "sts_endpoint": server.endpoint,
                "service_account_key": server.service_account_key,
                "vending": True,
                **signing,
            }
        )
        return GCSStorage.configured(config, FakeContext())

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
