from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import anyio.to_thread
import pytest

from sluicegate.api import Storage
from sluicegate_r2.storage import R2Storage
from sluicegate_testing.servers.seaweedfs import SeaweedFS
from sluicegate_testing.storage import Put, StorageBehaviour

BUCKET = "r2://lake@0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/"


class TestR2(StorageBehaviour):
    unchecked: ClassVar[Mapping[str, str]] = {
        "end": "the stand-in for Cloudflare issues sessions of at least 15 minutes"
    }

    @pytest.fixture
    def storage(self, connected: Callable[..., R2Storage]) -> Storage:
        return connected(prefix=f"{BUCKET}conformance/")

    @pytest.fixture
    def failing(
        self, connected: Callable[..., R2Storage], failing_servers: Mapping[str, str]
    ) -> Mapping[str, Storage]:
        return {how: connected(api_endpoint=url) for how, url in failing_servers.items()}

    @pytest.fixture
    def put(self, server: SeaweedFS) -> Put:
        async def put(location: str, content: bytes) -> None:
            await anyio.to_thread.run_sync(server.put, location.removeprefix(BUCKET), content)

        return put

    @pytest.fixture
    def secrets(self, server: SeaweedFS) -> Sequence[str]:
        return [server.signer.secret_access_key, "cloudflare-token"]
