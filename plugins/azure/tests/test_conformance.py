from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import anyio.to_thread
import pytest

from sluicegate.api import Storage
from sluicegate.testing.fakes import FakeContext
from sluicegate.testing.servers.azurite import Azurite
from sluicegate.testing.storage import Put, StorageBehaviour
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.storage import AzureStorage


class TestAzure(StorageBehaviour):
    unchecked: ClassVar[Mapping[str, str]] = {
        "sibling": "Azurite has no hierarchical namespace: credentials are for the whole container"
    }

    @pytest.fixture
    def storage(self, server: Azurite) -> Storage:
        config = AzureConfig.model_validate(
            {
                "prefix": f"{server.prefix}conformance/",
                "endpoint": server.endpoint,
                "account_key": server.account_key,
                "vending": "container",
            }
        )
        return AzureStorage.configured(config, FakeContext())

    @pytest.fixture
    def put(self, server: Azurite) -> Put:
        async def put(location: str, content: bytes) -> None:
            name = location.removeprefix(server.prefix)
            await anyio.to_thread.run_sync(server.put, name, content)

        return put

    @pytest.fixture
    def secrets(self, server: Azurite) -> Sequence[str]:
        return [server.account_key]
