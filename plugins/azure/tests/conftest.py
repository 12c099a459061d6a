from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from azure.core.credentials import AccessToken

from sluicegate_azure.config import AzureConfig
from sluicegate_azure.identity import IdentityAccess, configured_access
from sluicegate_azure.storage import AzureStorage
from sluicegate_testing.leaks import no_secret_leaks
from sluicegate_testing.servers.azurite import Azurite

__all__ = ["no_secret_leaks"]

Connect = Callable[..., AzureStorage]


class ServerIdentity:
    """An identity that the server accepts, with the interface of azure-identity."""

    def __init__(self, server: Azurite) -> None:
        self._server = server

    def get_token(
        self,
        *scopes: str,
        claims: str | None = None,
        tenant_id: str | None = None,
        enable_cae: bool = False,
        **options: object,
    ) -> AccessToken:
        lifetime = 3600
        return AccessToken(self._server.token(lifetime), int(time.time()) + lifetime)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with Azurite.for_tests(tmp_path_factory.mktemp("azurite")) as running:
        yield running


@pytest.fixture
def by_key(server: Azurite) -> Connect:
    """Return a storage of the server that uses the account's key, with additional settings."""

    def connect(**settings: Any) -> AzureStorage:
        config = _config(server, account_key=server.account_key, **settings)
        return AzureStorage(config, configured_access(config))

    return connect


@pytest.fixture
def by_identity(server: Azurite) -> Connect:
    """Return a storage of the server that uses an identity, and therefore user delegation keys."""

    def connect(**settings: Any) -> AzureStorage:
        config = _config(server, **settings)
        access = IdentityAccess(
            lambda: ServerIdentity(server), config.service_endpoint, config.delegation_key_lifetime
        )
        return AzureStorage(config, access)

    return connect


@pytest.fixture(params=["by_key", "by_identity"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Return a storage of the server, once for each authentication method."""
    chosen: Connect = request.getfixturevalue(request.param)
    return chosen


def _config(server: Azurite, **settings: Any) -> AzureConfig:
    return AzureConfig.model_validate(
        {"prefix": server.prefix, "endpoint": server.endpoint, **settings}
    )
