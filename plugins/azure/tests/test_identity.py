from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from azure.core.credentials import AccessToken, TokenCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import CredentialUnavailableError

from sluicegate.api import StorageError
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.identity import IdentityAccess, configured_access
from sluicegate_azure.storage import AzureStorage
from sluicegate_testing.servers.azurite import Azurite

LAKE = "abfss://lake@acmelake.dfs.core.windows.net/"
Connect = Callable[..., AzureStorage]


async def test_a_delegation_key_is_got_once_for_all_urls(server: Azurite, by_identity: Connect) -> None:
    storage = by_identity()

    first = await storage.presign([f"{server.prefix}a"], 60)
    second = await storage.presign([f"{server.prefix}b"], 60)

    keys = {url.partition("skoid=")[2].partition("&sig=")[0] for url in (*first.urls, *second.urls)}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"tenant_id": "t", "client_id": "c", "client_secret": "hush"}, "ClientSecretCredential"),
        (
            {"tenant_id": "t", "client_id": "c", "federated_token_file": "/run/token"},
            "WorkloadIdentityCredential",
        ),
        ({"managed_identity": True}, "ManagedIdentityCredential"),
        ({"managed_identity": True, "client_id": "c"}, "ManagedIdentityCredential"),
        ({"client_id": "c"}, "DefaultAzureCredential"),
        ({}, "DefaultAzureCredential"),
    ],
)
def test_the_configuration_chooses_the_credential(settings: dict[str, Any], kind: str) -> None:
    access = configured_access(AzureConfig(prefix=LAKE, **settings))
    assert isinstance(access, IdentityAccess)

    assert type(access.make_credential()).__name__ == kind


@pytest.mark.parametrize(
    ("suffix", "settings", "authority"),
    [
        ("core.windows.net", {}, "login.microsoftonline.com"),
        ("core.chinacloudapi.cn", {}, "login.chinacloudapi.cn"),
        ("core.usgovcloudapi.net", {}, "login.microsoftonline.us"),
        ("core.windows.net", {"authority_host": "https://login.example/"}, "login.example"),
    ],
)
async def test_tokens_come_from_the_prefixes_cloud(
    suffix: str, settings: dict[str, Any], authority: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note(host: str, *arguments: object, **options: object) -> None:
        asked.append(host)
        raise OSError("no network here")

    monkeypatch.setattr(socket, "getaddrinfo", note)
    config = AzureConfig(
        prefix=f"abfss://lake@acmelake.dfs.{suffix}/",
        tenant_id="72f988bf-86f1-41af-91ab-2d7cd011db47",
        client_id="c",
        client_secret="hush",
        **settings,
    )

    with pytest.raises(StorageError):
        await configured_access(config).signing_key()

    assert authority in asked


class Failing:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def get_token(
        self,
        *scopes: str,
        claims: str | None = None,
        tenant_id: str | None = None,
        enable_cae: bool = False,
        **options: Any,
    ) -> AccessToken:
        raise self._error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ClientAuthenticationError("AADSTS7000215: hush"), "no valid Azure identity"),
        (CredentialUnavailableError("nothing found: hush"), "no valid Azure identity"),
        (ValueError("a bad tenant: hush"), "cannot authenticate to Azure"),
        (FileNotFoundError("hush"), "cannot authenticate to Azure"),
    ],
)
async def test_what_entra_says_is_kept_from_recipients(error: Exception, message: str) -> None:
    access = IdentityAccess(lambda: Failing(error), "https://acmelake.blob.core.windows.net", 3600)

    for failing in (access.credential(), access.signing_key()):
        with pytest.raises(StorageError, match=message) as refused:
            await failing
        assert "hush" not in refused.value.message
        assert "hush" in (refused.value.detail or "")


async def test_a_refused_token_gets_no_signing_key(server: Azurite) -> None:
    class Expired(Failing):
        def get_token(self, *scopes: str, **options: Any) -> AccessToken:
            return AccessToken(server.token(lifetime=-1), 2**31)

    credential: TokenCredential = Expired(AssertionError())
    access = IdentityAccess(lambda: credential, server.endpoint, 3600)

    with pytest.raises(StorageError) as refused:
        await access.signing_key()

    assert server.account not in refused.value.message


async def test_an_account_that_does_not_respond_is_reported() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = f"https://127.0.0.1:{closed.getsockname()[1]}/acmelake"

        class Token(Failing):
            def get_token(self, *scopes: str, **options: Any) -> AccessToken:
                return AccessToken("token", 2**31)

        credential: TokenCredential = Token(AssertionError())
        access = IdentityAccess(lambda: credential, endpoint, 3600)

        with anyio.fail_after(15), pytest.raises(StorageError, match="does not respond"):
            await access.signing_key()


async def test_a_workload_without_its_token_file_has_no_identity(tmp_path: Path) -> None:
    config = AzureConfig(
        prefix=LAKE, tenant_id="t", client_id="c", federated_token_file=str(tmp_path / "missing")
    )

    with pytest.raises(StorageError):
        await configured_access(config).credential()
