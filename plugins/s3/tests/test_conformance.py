from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import anyio.to_thread
import pytest

from sluicegate.api import Storage
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.seaweedfs import SeaweedFS
from sluicegate_testing.storage import Put, StorageBehaviour


def connected(server: SeaweedFS, endpoint: str) -> S3Storage:
    config = S3Config.model_validate(
        {
            "prefix": f"s3://{server.bucket}/conformance/",
            "endpoint": endpoint,
            "access_key_id": server.signer.access_key_id,
            "secret_access_key": server.signer.secret_access_key,
            "sts_endpoint": endpoint,
            "vending": {"role_arn": server.role_arn},
        }
    )
    return S3Storage.configured(config, FakeContext())


class TestS3(StorageBehaviour):
    # tests/test_vending.py tests expiry, with a store whose sessions can be shorter than those of AWS.
    unchecked: ClassVar[Mapping[str, str]] = {"end": "sessions live for at least 15 minutes"}

    @pytest.fixture
    def storage(self, server: SeaweedFS) -> Storage:
        return connected(server, server.endpoint)

    @pytest.fixture
    def failing(self, server: SeaweedFS, failing_servers: Mapping[str, str]) -> Mapping[str, Storage]:
        return {how: connected(server, url) for how, url in failing_servers.items()}

    @pytest.fixture
    def put(self, server: SeaweedFS) -> Put:
        async def put(location: str, content: bytes) -> None:
            key = location.removeprefix(f"s3://{server.bucket}/")
            await anyio.to_thread.run_sync(server.put, key, content)

        return put

    @pytest.fixture
    def secrets(self, server: SeaweedFS) -> Sequence[str]:
        return [server.signer.secret_access_key]
