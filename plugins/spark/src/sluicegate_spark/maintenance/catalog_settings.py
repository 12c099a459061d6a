"""Configures the task's catalog in Spark: the service's identity there, and access to files.

Secrets are settings only of the task's session. Spark redacts settings by name, but some names of
Iceberg's settings don't reveal that the value is a secret. The name of the catalog makes Spark redact
them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sluicegate.api import HttpClient, SecretStr, TemporaryCredentials
from sluicegate_iceberg.config import IcebergConfig, OAuth2Config
from sluicegate_iceberg.rest.auth import client_tokens
from sluicegate_spark.maintenance.storage_settings import for_iceberg
from sluicegate_spark.tables import TaskCatalog

Settings = Mapping[str, str | SecretStr]

CATALOG: Final = "task_credentials"
HTTP_CLIENT: Final = f"spark.sql.catalog.{CATALOG}.http-client.type"
_CLASS: Final = "org.apache.iceberg.spark.SparkCatalog"
_LONGEST: Final = 1 << 20  # bytes of a response
# Additional fields of token requests that Iceberg's client can send.
_PARAMETERS: Final = frozenset({"audience", "resource"})


async def catalog_settings(catalog: TaskCatalog, credentials: TemporaryCredentials) -> Settings:
    """Return settings of a session in which the catalog has the name `CATALOG`."""
    config = catalog.config
    properties: dict[str, str | SecretStr] = {
        "type": "rest",
        "uri": config.uri,
        "cache-enabled": "false",
        **{f"header.{name}": value for name, value in config.headers.items()},
        **await _identity(catalog),
        **for_iceberg(credentials),
    }
    if config.warehouse is not None:
        properties["warehouse"] = config.warehouse
    if config.credentials == "catalog":
        properties["header.X-Iceberg-Access-Delegation"] = "vended-credentials"
    prefix = f"spark.sql.catalog.{CATALOG}"
    return {prefix: _CLASS, **{f"{prefix}.{name}": value for name, value in properties.items()}}


async def _identity(catalog: TaskCatalog) -> Settings:
    config = catalog.config
    if config.oauth2 is None:
        return {"rest.auth.type": "none"} if config.token is None else _bearer(config.token)
    if not _is_icebergs(config.oauth2):
        return _bearer(await _token(catalog.name, config, config.oauth2))
    secret = config.oauth2.client_secret.get_secret_value()
    return {
        "rest.auth.type": "oauth2",
        "credential": SecretStr(f"{config.oauth2.client_id}:{secret}"),
        "oauth2-server-uri": _token_uri(config, config.oauth2),
        "scope": str(config.oauth2.scope),
        **config.oauth2.parameters,
    }


def _bearer(token: SecretStr) -> Settings:
    return {"rest.auth.type": "oauth2", "token": token, "token-refresh-enabled": "false"}


def _is_icebergs(client: OAuth2Config) -> bool:
    """Return whether Iceberg's client can request tokens like this one, and so renew them."""
    return (
        client.client_authentication == "body"
        and client.scope is not None
        and ":" not in client.client_id
        and client.parameters.keys() <= _PARAMETERS
    )


async def _token(name: str, config: IcebergConfig, client: OAuth2Config) -> SecretStr:
    """Return a token that the service requested itself. It is not renewed while the task runs."""
    http = HttpClient(timeout=config.timeout, connections=1, longest=_LONGEST)
    try:
        tokens = client_tokens(client, _token_uri(config, client), http, name)
        return SecretStr((await tokens.get()).value)
    finally:
        await http.aclose()


def _token_uri(config: IcebergConfig, client: OAuth2Config) -> str:
    return client.token_uri or f"{config.uri}/v1/oauth/tokens"
