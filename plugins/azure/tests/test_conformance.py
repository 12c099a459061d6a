from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar
from urllib.parse import urlsplit

import anyio.to_thread
import pytest

from sluicegate.api import Storage
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.storage import AzureStorage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.servers.azurite import Azurite
from sluicegate_testing.storage import Put, StorageBehaviour

from .conftest import Connect


class TestAzure(StorageBehaviour):
    unchecked: ClassVar[Mapping[str, str]] = {
        "sibling": "Azurite has no hierarchical namespace: credentials are for the entire container"
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
    def failing(
        self, server: Azurite, by_identity: Connect, failing_servers: Mapping[str, str]
    ) -> Mapping[str, Storage]:
        """With an identity, because the account's key signs without a server. Tokens require HTTPS."""
        account = urlsplit(server.endpoint).path
        return {
            how: by_identity(endpoint=f"https{url[4:]}{account}", vending="container")
            for how, url in failing_servers.items()
        }

    @pytest.fixture
    def put(self, server: Azurite) -> Put:
        async def put(location: str, content: bytes) -> None:
            name = location.removeprefix(server.prefix)
            await anyio.to_thread.run_sync(server.put, name, content)

        return put

    @pytest.fixture
    def secrets(self, server: Azurite) -> Sequence[str]:
        return [server.account_key]
