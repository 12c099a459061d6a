from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import anyio.to_thread
import pytest

from sluicegate.api import Storage
from sluicegate.testing.fakes import FakeContext
from sluicegate.testing.servers.seaweedfs import SeaweedFS
from sluicegate.testing.storage import Put, StorageBehaviour
from sluicegate_s3.config import S3Config
from sluicegate_s3.storage import S3Storage


class TestS3(StorageBehaviour):
    # tests/test_vending.py shows the end, with a store that ends sessions sooner than AWS does.
    unchecked: ClassVar[Mapping[str, str]] = {"end": "sessions live for at least 15 minutes"}

    @pytest.fixture
    def storage(self, server: SeaweedFS) -> Storage:
        config = S3Config.model_validate(
            {
                "prefix": f"s3://{server.bucket}/conformance/",
                "endpoint": server.endpoint,
                "access_key_id": server.signer.access_key_id,
                "secret_access_key": server.signer.secret_access_key,
                "sts_endpoint": server.endpoint,
                "vending": {"role_arn": server.role_arn},
            }
        )
        return S3Storage.configured(config, FakeContext())

    @pytest.fixture
    def put(self, server: SeaweedFS) -> Put:
        async def put(location: str, content: bytes) -> None:
            key = location.removeprefix(f"s3://{server.bucket}/")
            await anyio.to_thread.run_sync(server.put, key, content)

        return put

    @pytest.fixture
    def secrets(self, server: SeaweedFS) -> Sequence[str]:
        return [server.signer.secret_access_key]
