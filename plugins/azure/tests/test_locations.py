"""What all object storages do with locations and vended credentials."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from sluicegate.api import Storage, TemporaryCredentials
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.storage import AzureStorage
from sluicegate_testing.fakes import FakeContext
from sluicegate_testing.storage import ObjectStorageBehaviour, Vended

LAKE = "abfss://lake@acmelake.dfs.core.windows.net/"


class TestLocations(ObjectStorageBehaviour):
    spellings: ClassVar[Sequence[str]] = [
        f"{scheme}://lake@{account}.{service}.core.windows.net/sales/a"
        for scheme in ("abfss", "abfs", "wasbs", "wasb")
        for service in ("dfs", "blob")
        for account in ("acmelake", "AcmeLake")
    ]
    outside: ClassVar[Sequence[str]] = [
        f"{LAKE}salesroom/a",
        f"{LAKE}other/a",
        LAKE,
        "abfss://other@acmelake.dfs.core.windows.net/sales/a",
        "abfss://lake@other.dfs.core.windows.net/sales/a",
        "abfss://lake@acmelake.dfs.core.chinacloudapi.cn/sales/a",
        "abfss://lake@acmelake.dfs.core.windows.net.evil.example/sales/a",
        "az://lake/sales/a",
        "https://acmelake.blob.core.windows.net/lake/sales/a",
        "s3://lake/sales/a",
        "/sales/a",
        "",
    ]

    @pytest.fixture
    def storage(self) -> Storage:
        settings = {"prefix": f"{LAKE}sales", "account_key": base64.b64encode(b"secret").decode()}
        return AzureStorage.configured(AzureConfig.model_validate(settings), FakeContext())

    @pytest.fixture
    def vended(self) -> Vended:
        def vended(secret: str) -> TemporaryCredentials:
            token = f"se=2199-01-01&sp=rl&sig={secret}"
            return TemporaryCredentials(LAKE, "azure", {"sas_token": token}, None)

        return vended

    @pytest.fixture
    def unusable(self, vended: Vended) -> Sequence[TemporaryCredentials]:
        tokens = ("se=2027-01-01&sp=r&key=hush", "sp=r&sig=hush", "se=soon&sp=r&sig=hush")
        secrets = [*({"sas_token": token} for token in tokens), {"oauth_token": "hush"}]
        given = vended("hush")
        return [replace(given, kind="aws"), *(replace(given, secret=each) for each in secrets)]
