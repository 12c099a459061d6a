from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluicegate_azure.address import Container, canonical_location
from sluicegate_azure.config import AzureConfig

LAKE = "abfss://lake@acmelake.dfs.core.windows.net/"
AZURE: dict[str, Any] = {"prefix": LAKE}
KEY: dict[str, Any] = {"account_key": "aHVzaC1odXNo"}
APPLICATION: dict[str, Any] = {"tenant_id": "t", "client_id": "c", "client_secret": "hush-hush"}


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        (
            "abfss://lake@acmelake.dfs.core.windows.net/t",
            "abfss://lake@acmelake.dfs.core.windows.net/t",
        ),
        ("abfs://lake@acmelake.dfs.core.windows.net", "abfss://lake@acmelake.dfs.core.windows.net"),
        (
            "wasbs://lake@acmelake.blob.core.windows.net/t",
            "abfss://lake@acmelake.dfs.core.windows.net/t",
        ),
        ("wasb://lake@acmelake.dfs.core.windows.net/t", "abfss://lake@acmelake.dfs.core.windows.net/t"),
        (
            "WASBS://lake@AcmeLake.Blob.Core.Windows.Net/T",
            "abfss://lake@acmelake.dfs.core.windows.net/T",
        ),
        (
            "wasbs://lake@acmelake.blob.core.chinacloudapi.cn/t",
            "abfss://lake@acmelake.dfs.core.chinacloudapi.cn/t",
        ),
        (
            "wasbs://lake@acmelake.z11.blob.storage.azure.net/t",
            "abfss://lake@acmelake.z11.dfs.storage.azure.net/t",
        ),
        (
            "wasbs://lake@acmelake.blob.core.windows.net//a\nb",
            "abfss://lake@acmelake.dfs.core.windows.net//a\nb",
        ),
        ("abfss://lake/t", "abfss://lake/t"),
        ("wasbs://lake@/t", "wasbs://lake@/t"),
        ("abfss://lake@acmelake.example/t", "abfss://lake@acmelake.example/t"),
        ("abfss://", "abfss://"),
    ],
)
def test_a_location_is_spelled_one_way(given: str, canonical: str) -> None:
    assert canonical_location(given) == canonical


@pytest.mark.parametrize(
    ("given", "prefix", "container"),
    [
        (LAKE.rstrip("/"), LAKE, Container("acmelake", "lake", "", "core.windows.net")),
        (
            "wasbs://lake@acmelake.blob.core.windows.net/a b/ü//",
            f"{LAKE}a b/ü/",
            Container("acmelake", "lake", "", "core.windows.net"),
        ),
        (
            "abfss://$web@acmelake.z9.dfs.storage.azure.net",
            "abfss://$web@acmelake.z9.dfs.storage.azure.net/",
            Container("acmelake", "$web", "z9.", "storage.azure.net"),
        ),
    ],
)
def test_a_prefix_names_its_container(given: str, prefix: str, container: Container) -> None:
    config = AzureConfig(prefix=given)

    assert (config.prefix, config.container) == (prefix, container)
    assert config.prefix.startswith(container.prefix)


@pytest.mark.parametrize(
    ("settings", "endpoint", "public"),
    [
        ({}, "https://acmelake.blob.core.windows.net", "https://acmelake.blob.core.windows.net"),
        (
            {"prefix": "abfss://lake@acmelake.z9.dfs.storage.azure.net/"},
            "https://acmelake.z9.blob.storage.azure.net",
            "https://acmelake.z9.blob.storage.azure.net",
        ),
        (
            {"endpoint": "HTTPS://Private.Example:443/AcmeLake/"},
            "https://private.example/AcmeLake",
            "https://private.example/AcmeLake",
        ),
        (
            {"endpoint": "http://[::1]:10000/acme", "public_endpoint": "https://files.example", **KEY},
            "http://[::1]:10000/acme",
            "https://files.example",
        ),
    ],
)
def test_the_gateway_and_recipients_know_where_the_account_answers(
    settings: dict[str, Any], endpoint: str, public: str
) -> None:
    config = AzureConfig(**{**AZURE, **settings})

    assert (config.service_endpoint, config.public_service_endpoint) == (endpoint, public)


@pytest.mark.parametrize(
    ("settings", "vends"),
    [
        ({}, None),
        ({"hierarchical": True}, "directory"),
        ({"hierarchical": True, "vending": "directory"}, "directory"),
        ({"hierarchical": True, "vending": "container"}, "container"),
        ({"vending": "container"}, "container"),
    ],
)
def test_a_whole_container_is_vended_only_by_name(settings: dict[str, Any], vends: str | None) -> None:
    assert AzureConfig(**AZURE, **settings).vends == vends


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "prefix"),
        ({"prefix": "az://lake/"}, "must name container and account"),
        ({"prefix": "azure://lake/"}, "must name container and account"),
        ({"prefix": "abfss://lake/"}, "must name container and account"),
        ({"prefix": "abfss://acmelake.dfs.core.windows.net/lake"}, "must name container and account"),
        ({"prefix": "https://acmelake.blob.core.windows.net/lake"}, "must name container and account"),
        ({"prefix": "abfss://Lake@acmelake.dfs.core.windows.net/"}, "not the name of a container"),
        ({"prefix": "abfss://l--e@acmelake.dfs.core.windows.net/"}, "not the name of a container"),
        ({**AZURE, "endpoint": "acmelake.example"}, "https://account.blob.core.windows.net"),
        ({**AZURE, "endpoint": "ftp://acmelake.example"}, "https://account.blob.core.windows.net"),
        ({**AZURE, "endpoint": "https://acmelake.example/?sv=1"}, "only scheme, host, port and path"),
        ({**AZURE, "endpoint": "https://user:word@acmelake.example"}, "only scheme, host"),
        ({**AZURE, "endpoint": "http://acmelake.example"}, "must start with https://"),
        ({**AZURE, "account_key": "no base64!"}, "an account key in Base64"),
        ({**AZURE, "account_key": ""}, "an account key in Base64"),
        ({**AZURE, **KEY, "client_id": "c"}, "account_key and client_id are mutually exclusive"),
        (
            {**AZURE, **KEY, "managed_identity": True},
            "account_key and managed_identity are mutually exclusive",
        ),
        ({**AZURE, **KEY, "delegation_key_lifetime": 7200}, "are mutually exclusive"),
        ({**AZURE, "client_secret": "hush-hush"}, "client_secret requires tenant_id and client_id"),
        ({**AZURE, "federated_token_file": "/run/token", "client_id": "c"}, "requires tenant_id"),
        ({**AZURE, "tenant_id": "t"}, "tenant_id requires client_secret or"),
        ({**AZURE, **APPLICATION, "managed_identity": True}, "client_secret and managed_identity"),
        ({**AZURE, **APPLICATION, "federated_token_file": "/run/token"}, "are mutually exclusive"),
        ({**AZURE, "authority_host": "login.example"}, "authority_host"),
        ({**AZURE, "delegation_key_lifetime": 60}, "delegation_key_lifetime"),
        ({**AZURE, "delegation_key_lifetime": 604_801}, "delegation_key_lifetime"),
        ({**AZURE, "vending": "directory"}, "if the account has one, set hierarchical: true"),
        ({**AZURE, "vending": "file"}, "vending"),
        ({**AZURE, "connection_string": "AccountKey=hush-hush"}, "connection_string"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as refused:
        AzureConfig(**settings)

    assert complaint in str(refused.value)
    assert "hush-hush" not in str(refused.value)


@pytest.mark.parametrize("secret", [KEY, APPLICATION])
def test_a_secret_is_not_shown(secret: dict[str, Any]) -> None:
    config = AzureConfig(**AZURE, **secret)

    assert not any(hidden in f"{config!r} {config.model_dump_json()}" for hidden in ("hush", "aHVzaC1"))


def test_every_setting_is_described() -> None:
    undescribed = [name for name, field in AzureConfig.model_fields.items() if not field.description]

    assert undescribed == []
