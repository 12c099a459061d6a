from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sluicegate.api import SecretStr, TemporaryCredentials, UnsupportedOperation
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_spark.jvm.redaction import SECRET_NAMES
from sluicegate_spark.maintenance.catalog_settings import CATALOG, catalog_settings
from sluicegate_spark.maintenance.storage_settings import (
    closed_for_hadoop,
    for_hadoop,
    for_iceberg,
    hadoop_location,
)
from sluicegate_spark.tables import TaskCatalog
from sluicegate_testing.servers.catalog_http import Reply, Request, serve

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
    """Return settings as text, with secrets in angle brackets."""
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
    assert opening(for_iceberg(credentials)) == expected


def opening(settings: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """Check that settings disable the other clouds, and return the remaining settings."""
    found = shown(settings)
    opened = ("s3.access-key-id", "adls.sas-token.acct", "gcs.oauth2.token")
    sdk = "software.amazon.awssdk.auth.credentials"
    closed = {
        "client.credentials-provider": f"{sdk}.AnonymousCredentialsProvider",
        "adls.auth.shared-key.account.name": "none",
        "gcs.no-auth": "true",
    }
    for key, (name, value) in zip(opened, closed.items(), strict=True):
        assert found.pop(name, None) == (None if key in found else value)
    found.pop("adls.auth.shared-key.account.key", None)
    return found


@pytest.mark.parametrize(
    ("credentials", "expected"),
    [
        (
            s3({**KEYS, "session_token": "tok"}, region="eu-west-1"),
            {
                "access.key": "<id>",
                "secret.key": "<key>",
                "session.token": "<tok>",
                "aws.credentials.provider": f"{PROVIDERS}.TemporaryAWSCredentialsProvider",
                "endpoint.region": "eu-west-1",
            },
        ),
        (
            s3(KEYS, **STORE),
            {
                "access.key": "<id>",
                "secret.key": "<key>",
                "session.token": "<>",
                "aws.credentials.provider": f"{PROVIDERS}.SimpleAWSCredentialsProvider",
                "endpoint": "http://store:9000",
                "connection.ssl.enabled": "false",
                "path.style.access": "true",
            },
        ),
    ],
)
def test_hadoop_gets_keys_for_the_bucket_and_for_all_and_keeps_no_file_system(
    credentials: TemporaryCredentials, expected: dict[str, str]
) -> None:
    settings = shown(for_hadoop(credentials))
    nothing = {"security.credential.provider.path": "user:///", "delegation.token.binding": ""}
    for place in ("fs.s3a.", "fs.s3a.bucket.lake."):
        found = {name.removeprefix(place): settings[f"{place}{name}"] for name in expected | nothing}
        assert found == expected | nothing
    assert settings["fs.s3a.impl.disable.cache"] == "true"


def test_hadoop_gets_azures_names_and_keeps_no_file_system() -> None:
    assert shown(for_hadoop(AZURE)) == {
        "fs.azure.account.auth.type.acct.dfs.core.windows.net": "SAS",
        "fs.azure.sas.fixed.token.acct.dfs.core.windows.net": "<sig=1>",
        "fs.abfs.impl.disable.cache": "true",
        "fs.abfss.impl.disable.cache": "true",
    }


def test_without_credentials_no_store_is_opened() -> None:
    closed = shown(closed_for_hadoop())
    assert closed["fs.s3a.aws.credentials.provider"].endswith(".AnonymousAWSCredentialsProvider")
    assert (closed["fs.azure.account.auth.type"], closed["fs.gs.auth.type"]) == (
        "SAS",
        "UNAUTHENTICATED",
    )


def test_delta_tables_in_googles_storage_are_not_opened() -> None:
    with pytest.raises(UnsupportedOperation, match="does not accept a token as a setting"):
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
    return opening({name.removeprefix(f"{prefix}."): value for name, value in settings.items()})


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
async def test_a_catalog_without_a_client_gets_requests_as_configured(
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
async def test_what_icebergs_client_cannot_request_is_requested_for_it(client: dict[str, Any]) -> None:
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
