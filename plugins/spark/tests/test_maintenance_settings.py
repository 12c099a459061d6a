from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sluicegate.api import SecretStr, TemporaryCredentials, UnsupportedOperation
from sluicegate.testing.servers.catalog_http import Reply, Request, serve
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_spark.jvm.redaction import SECRET_NAMES
from sluicegate_spark.maintenance.catalog import CATALOG, catalog_settings
from sluicegate_spark.maintenance.files import for_hadoop, for_iceberg, hadoop_location
from sluicegate_spark.tables import TaskCatalog

KEYS = {"access_key_id": "id", "secret_access_key": "key"}
PROVIDERS = "org.apache.hadoop.fs.s3a"
STORE = {"endpoint": "http://store:9000", "path_style": "true"}


def s3(secret: Mapping[str, str], **connection: str) -> TemporaryCredentials:
    return TemporaryCredentials("s3://lake/t", "aws", secret, None, connection)


AZURE = TemporaryCredentials(
    "abfss://box@acct.dfs.core.windows.net/t", "azure", {"sas_token": "?sig=1"}, 5, {"account": "acct"}
)
GOOGLE = TemporaryCredentials("gs://box/t", "gcp", {"oauth_token": "ya29"}, 5)


def shown(settings: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """The settings, secrets in brackets."""
    return {
        name: value if isinstance(value, str) else f"<{value.get_secret_value()}>"
        for name, value in settings.items()
    }


@pytest.mark.parametrize(
    ("credentials", "expected"),
    [
        (
            s3({**KEYS, "session_token": "tok"}, region="eu-west-1"),
            {
                "s3.access-key-id": "<id>",
                "s3.secret-access-key": "<key>",
                "s3.session-token": "<tok>",
                "client.region": "eu-west-1",
            },
        ),
        (
            s3(KEYS, **STORE),
            {
                "s3.access-key-id": "<id>",
                "s3.secret-access-key": "<key>",
                "client.region": "us-east-1",
                "s3.endpoint": "http://store:9000",
                "s3.chunked-encoding-enabled": "false",
                "s3.path-style-access": "true",
            },
        ),
        (
            AZURE,
            {
                "adls.sas-token.acct": "<?sig=1>",
                "adls.sas-token.acct.dfs.core.windows.net": "<?sig=1>",
            },
        ),
        (GOOGLE, {"gcs.oauth2.token": "<ya29>", "gcs.oauth2.token-expires-at": "5"}),
    ],
)
def test_iceberg_gets_its_own_names(
    credentials: TemporaryCredentials, expected: dict[str, str]
) -> None:
    assert shown(for_iceberg(credentials)) == expected


@pytest.mark.parametrize(
    ("credentials", "expected"),
    [
        (
            s3({**KEYS, "session_token": "tok"}, region="eu-west-1"),
            {
                "fs.s3a.access.key": "<id>",
                "fs.s3a.secret.key": "<key>",
                "fs.s3a.session.token": "<tok>",
                "fs.s3a.aws.credentials.provider": f"{PROVIDERS}.TemporaryAWSCredentialsProvider",
                "fs.s3a.endpoint.region": "eu-west-1",
            },
        ),
        (
            s3(KEYS, **STORE),
            {
                "fs.s3a.access.key": "<id>",
                "fs.s3a.secret.key": "<key>",
                "fs.s3a.aws.credentials.provider": f"{PROVIDERS}.SimpleAWSCredentialsProvider",
                "fs.s3a.endpoint": "http://store:9000",
                "fs.s3a.connection.ssl.enabled": "false",
                "fs.s3a.path.style.access": "true",
            },
        ),
        (
            AZURE,
            {
                "fs.azure.account.auth.type.acct.dfs.core.windows.net": "SAS",
                "fs.azure.sas.fixed.token.acct.dfs.core.windows.net": "<sig=1>",
            },
        ),
    ],
)
def test_hadoop_gets_its_own_names_and_keeps_no_file_system(
    credentials: TemporaryCredentials, expected: dict[str, str]
) -> None:
    settings = shown(for_hadoop(credentials))
    kept = {name: settings.pop(name) for name in list(settings) if name.endswith(".disable.cache")}
    settings.pop("fs.s3.impl", None)
    assert settings == expected
    scheme = "s3a" if credentials.kind == "aws" else "abfss"
    assert kept[f"fs.{scheme}.impl.disable.cache"] == "true"


def test_googles_storage_needs_credentials_of_sparks_own() -> None:
    with pytest.raises(UnsupportedOperation, match="in the executor's `conf`"):
        for_hadoop(GOOGLE)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("s3://lake/t", "s3a://lake/t"),
        ("s3n://lake/t", "s3a://lake/t"),
        ("gs://box/s3://t", "gs://box/s3://t"),
    ],
)
def test_hadoop_has_schemes_of_its_own(location: str, expected: str) -> None:
    assert hadoop_location(location) == expected


def catalog(**section: Any) -> TaskCatalog:
    uri = section.pop("uri", "http://catalog:8181")
    return TaskCatalog.configured("lake", IcebergConfig.model_validate({"uri": uri, **section}))


async def properties(found: TaskCatalog) -> dict[str, str]:
    settings = shown(await catalog_settings(found, s3(KEYS)))
    await found.client.aclose()
    prefix = f"spark.sql.catalog.{CATALOG}"
    assert settings.pop(prefix) == "org.apache.iceberg.spark.SparkCatalog"
    assert all(re.search(SECRET_NAMES, name) for name in settings)
    return {name.removeprefix(f"{prefix}."): value for name, value in settings.items()}


async def test_icebergs_client_is_the_service_itself() -> None:
    oauth2 = {"client_id": "me", "client_secret": "mine", "parameters": {"audience": "lake"}}
    found = await properties(
        catalog(warehouse="lake", oauth2=oauth2, headers={"Polaris-Realm": "prod"})
    )
    assert found == {
        "type": "rest",
        "uri": "http://catalog:8181",
        "warehouse": "lake",
        "cache-enabled": "false",
        "rest.auth.type": "oauth2",
        "credential": "<me:mine>",
        "oauth2-server-uri": "http://catalog:8181/v1/oauth/tokens",
        "scope": "catalog",
        "audience": "lake",
        "header.Polaris-Realm": "<prod>",
        "header.X-Iceberg-Access-Delegation": "vended-credentials",
        "s3.access-key-id": "<id>",
        "s3.secret-access-key": "<key>",
    }


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({}, {"rest.auth.type": "none"}),
        ({"token": "abc"}, {"rest.auth.type": "oauth2", "token": "<abc>"}),
    ],
)
async def test_a_catalog_without_a_client_is_asked_as_configured(
    section: dict[str, Any], expected: dict[str, str]
) -> None:
    found = await properties(catalog(credentials="storage", **section))
    assert found.items() >= expected.items()
    assert "header.X-Iceberg-Access-Delegation" not in found


@pytest.mark.parametrize(
    "client",
    [
        {"client_authentication": "header"},
        {"scope": None},
        {"client_id": "urn:me"},
        {"parameters": {"tenant": "acme"}},
    ],
)
async def test_what_icebergs_client_cannot_ask_is_asked_for_it(client: dict[str, Any]) -> None:
    asked: list[Request] = []
    ports: list[int] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        return Reply(200, {"access_token": "given", "token_type": "bearer", "expires_in": 3600})

    def at(port: int) -> Callable[[Request], Reply]:
        ports.append(port)
        return answer

    with serve(at):
        oauth2 = {"client_id": "me", "client_secret": "mine", **client}
        found = await properties(catalog(uri=f"http://127.0.0.1:{ports[0]}", oauth2=oauth2))
    assert [request.path for request in asked] == ["/v1/oauth/tokens"]
    assert (found["token"], found["token-refresh-enabled"]) == ("<given>", "false")
    assert "credential" not in found
