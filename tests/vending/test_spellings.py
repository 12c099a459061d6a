"""One set of credentials in the format of each protocol."""

from __future__ import annotations

from typing import Any

import pytest

from sluicegate.api import TemporaryCredentials
from sluicegate.vending.delta_sharing_format import sharing_json
from sluicegate.vending.iceberg_format import iceberg_config, refresh_config

ROOT = "s3://lake/orders"
SESSION = {"access_key_id": "ID", "secret_access_key": "SECRET", "session_token": "TOKEN"}
SHARED_SESSION = {"accessKeyId": "ID", "secretAccessKey": "SECRET", "sessionToken": "TOKEN"}
SPELLED_S3 = {
    "s3.access-key-id": "ID",
    "s3.secret-access-key": "SECRET",
    "s3.session-token": "TOKEN",
    "s3.session-token-expires-at-ms": "1800000000000",
}


def credentials(
    kind: Any,
    secret: dict[str, str],
    connection: dict[str, str] | None = None,
    expires_at: int | None = 1_800_000_000_000,
) -> TemporaryCredentials:
    return TemporaryCredentials(ROOT, kind, secret, expires_at, connection or {})


@pytest.mark.parametrize(
    ("kind", "secret", "expected"),
    [
        ("aws", SESSION, {"awsTempCredentials": SHARED_SESSION}),
        ("r2", SESSION, {"r2Credentials": SHARED_SESSION}),
        ("azure", {"sas_token": "sig=x"}, {"azureUserDelegationSas": {"sasToken": "sig=x"}}),
        ("gcp", {"oauth_token": "ya29"}, {"gcpOauthToken": {"oauthToken": "ya29"}}),
    ],
)
def test_delta_sharing(kind: str, secret: dict[str, str], expected: dict[str, Any]) -> None:
    assert sharing_json(credentials(kind, secret, {"region": "eu-west-1", "account": "lake"})) == {
        "location": ROOT,
        "expirationTime": 1_800_000_000_000,
        **expected,
    }


@pytest.mark.parametrize("kind", ["aws", "r2"])
@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        ({}, {}),
        (
            {"region": "eu-west-1", "role_arn": "arn:aws:iam::1:role/reader"},
            {"client.region": "eu-west-1", "s3.region": "eu-west-1"},
        ),
        (
            {"region": "auto", "endpoint": "https://s3.example", "path_style": "true"},
            {
                "client.region": "auto",
                "s3.region": "auto",
                "s3.endpoint": "https://s3.example",
                "s3.path-style-access": "true",
            },
        ),
    ],
)
def test_iceberg_on_s3_and_r2(kind: str, connection: dict[str, str], expected: dict[str, str]) -> None:
    assert iceberg_config(credentials(kind, SESSION, connection)) == SPELLED_S3 | expected


def test_iceberg_with_long_lived_keys_says_no_end() -> None:
    keys = {"access_key_id": "ID", "secret_access_key": "SECRET"}
    assert iceberg_config(credentials("aws", keys, expires_at=None)) == {
        "s3.access-key-id": "ID",
        "s3.secret-access-key": "SECRET",
    }


def test_iceberg_on_azure_names_the_account_both_ways() -> None:
    assert iceberg_config(credentials("azure", {"sas_token": "sig=x"}, {"account": "acme"})) == {
        "adls.sas-token.acme.dfs.core.windows.net": "sig=x",
        "adls.sas-token-expires-at-ms.acme.dfs.core.windows.net": "1800000000000",
        "adls.sas-token.acme": "sig=x",
        "adls.sas-token-expires-at-ms.acme": "1800000000000",
    }


def test_iceberg_on_google_cloud() -> None:
    assert iceberg_config(credentials("gcp", {"oauth_token": "ya29"})) == {
        "gcs.oauth2.token": "ya29",
        "gcs.oauth2.token-expires-at": "1800000000000",
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("aws", {"client.refresh-credentials-endpoint": "v1/here"}),
        ("r2", {"client.refresh-credentials-endpoint": "v1/here"}),
        ("azure", {"adls.refresh-credentials-endpoint": "v1/here"}),
        (
            "gcp",
            {
                "gcs.oauth2.refresh-credentials-endpoint": "v1/here",
                "gcs.oauth2.refresh-credentials-enabled": "true",
            },
        ),
    ],
)
def test_iceberg_gets_the_refresh_endpoint_in_each_clouds_properties(
    kind: str, expected: dict[str, str]
) -> None:
    assert refresh_config(credentials(kind, {}), "v1/here") == expected
    assert refresh_config(credentials(kind, {}, expires_at=None), "v1/here") == {}
