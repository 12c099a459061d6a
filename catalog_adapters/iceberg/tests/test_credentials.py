from __future__ import annotations

from collections.abc import Mapping

import pytest

from sluicegate.api import TemporaryCredentials
from sluicegate_iceberg.credentials import chosen
from sluicegate_iceberg.rest.responses import StorageCredential

TABLE = "s3://lake/wh/t"
AZURE = "abfss://box@account.dfs.core.windows.net/wh/t"
S3 = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.session-token": "token"}


def choose(
    *offered: tuple[str, Mapping[str, str]], locations: tuple[str, ...] = (TABLE,)
) -> TemporaryCredentials | None:
    credentials = [StorageCredential(prefix=prefix, config=config) for prefix, config in offered]
    return chosen(credentials, locations, {})


def s3(name: str) -> dict[str, str]:
    return {**S3, "s3.access-key-id": name}


@pytest.mark.parametrize(
    ("prefixes", "winner"),
    [
        (["s3://lake/wh/t"], "s3://lake/wh/t"),
        (["s3://lake/wh/t/"], "s3://lake/wh/t/"),
        (["s3", "s3://lake", "s3://lake/wh/t"], "s3://lake/wh/t"),
        (["s3://lake/wh/t", "s3://lake", "s3"], "s3://lake/wh/t"),
        (["s3", "s3://lake/"], "s3://lake/"),
        (["", "s3://"], "s3://"),
        (["s3a://lake/wh/t", "s3://lake"], "s3a://lake/wh/t"),
        (["s3://lake/wh", "s3://lake/wh/t2", "s3://lake/wh/t/data"], "s3://lake/wh"),
        (["gs", "s3"], "s3"),
    ],
)
def test_the_longest_prefix_that_holds_the_table_wins(prefixes: list[str], winner: str) -> None:
    found = choose(*((prefix, s3(prefix or "any")) for prefix in prefixes))
    assert found is not None
    assert found.secret["access_key_id"] == winner


@pytest.mark.parametrize("prefix", ["s3://lake/wh/t2", "s3://other", "s3://lak", "gs", TABLE + "/data"])
def test_credentials_of_elsewhere_are_none(prefix: str) -> None:
    assert choose((prefix, S3)) is None


@pytest.mark.parametrize(
    ("prefix", "opened"),
    [
        ("s3://lake/wh/t", TABLE),
        ("s3://lake/wh/t/", TABLE),
        ("s3a://lake/wh/t", TABLE),
        ("s3://lake/wh", "s3://lake/wh"),
        ("s3://lake", "s3://lake"),
        ("s3", "s3://lake"),
        ("", "s3://lake"),
    ],
)
def test_what_opens_more_than_the_table_says_so(prefix: str, opened: str) -> None:
    found = choose((prefix, S3))
    assert found is not None
    assert found.location == opened


def test_all_directories_have_to_be_open() -> None:
    both = (TABLE, "s3://lake/elsewhere")
    assert choose((TABLE, S3), locations=both) is None
    assert choose((TABLE, S3), ("s3://lake", s3("wide")), locations=both) is not None


@pytest.mark.parametrize("missing", ["s3.access-key-id", "s3.secret-access-key"])
@pytest.mark.parametrize("how", ["absent", "empty"])
def test_incomplete_keys_are_none(missing: str, how: str) -> None:
    config = {name: value for name, value in S3.items() if name != missing}
    assert choose((TABLE, config if how == "absent" else {**config, missing: ""})) is None


def test_a_complete_credential_wins_over_a_longer_prefix_without_keys() -> None:
    found = choose((TABLE, {"client.region": "eu-west-1"}), ("s3", S3))
    assert found is not None
    assert found.secret["session_token"] == "token"


AZURE_SAS = "sv=2024-11-04&sr=d&se=2026-11-21T10%3A00%3A00Z&sig=x"


@pytest.mark.parametrize(
    ("location", "config", "secret", "expires_at"),
    [
        (TABLE, S3, {"session_token": "token"}, None),
        (TABLE, {**S3, "s3.session-token-expires-at-ms": "1000"}, {"access_key_id": "key"}, 1000),
        (TABLE, {**S3, "expiration-time": "2000"}, {"secret_access_key": "secret"}, 2000),
        (TABLE, {**S3, "s3.session-token-expires-at-ms": "soon"}, {"access_key_id": "key"}, None),
        (TABLE, {**S3, "s3.session-token-expires-at-ms": "9" * 5000}, {"access_key_id": "key"}, None),
        (TABLE, {**S3, "s3.session-token-expires-at-ms": "-1"}, {"access_key_id": "key"}, None),
        ("gs://lake/t", {"gcs.oauth2.token": "g"}, {"oauth_token": "g"}, None),
        (
            "gs://lake/t",
            {"gcs.oauth2.token": "g", "gcs.oauth2.token-expires-at": "1000"},
            {"oauth_token": "g"},
            1000,
        ),
        (
            AZURE,
            {
                "adls.sas-token.account.dfs.core.windows.net": "sas",
                "adls.sas-token-expires-at-ms.account.dfs.core.windows.net": "1000",
                "adls.sas-token.other": "of another account",
            },
            {"sas_token": "sas"},
            1000,
        ),
        (
            AZURE,
            {"adls.sas-token.account": "sas", "adls.sas-token-expires-at-ms.account": "1000"},
            {"sas_token": "sas"},
            1000,
        ),
        (AZURE, {"adls.sas-token.account": AZURE_SAS}, {"sas_token": AZURE_SAS}, 1_795_255_200_000),
        (AZURE, {"adls.sas-token": "sig=x"}, {"sas_token": "sig=x"}, None),
    ],
)
def test_every_cloud_is_read(
    location: str, config: Mapping[str, str], secret: Mapping[str, str], expires_at: int | None
) -> None:
    found = choose((location, config), locations=(location,))
    assert found is not None
    assert found.secret.items() >= secret.items()
    assert found.expires_at == expires_at


@pytest.mark.parametrize(
    ("location", "config"),
    [
        (TABLE, {"gcs.oauth2.token": "g"}),
        ("gs://lake/t", S3),
        (AZURE, {"adls.sas-token.other": "sas"}),
        ("abfss://box/t", {"adls.sas-token": "sas"}),
        ("hdfs://lake/t", S3),
    ],
)
def test_the_secret_of_another_cloud_or_account_is_none(
    location: str, config: Mapping[str, str]
) -> None:
    assert choose(("", config), locations=(location,)) is None


def test_azure_says_the_account() -> None:
    found = choose((AZURE.replace(".dfs.", ".blob."), {"adls.sas-token": "sas"}), locations=(AZURE,))
    assert found is not None
    assert (found.kind, found.connection) == ("azure", {"account": "account"})


@pytest.mark.parametrize(
    ("of_table", "of_credential", "connection"),
    [
        ({}, {}, {}),
        ({"s3.region": "a"}, {}, {"region": "a"}),
        ({"s3.region": "a", "client.region": "b"}, {}, {"region": "b"}),
        (
            {"s3.endpoint": "http://a", "s3.path-style-access": "TRUE"},
            {},
            {"endpoint": "http://a", "path_style": "true"},
        ),
        ({"s3.endpoint": "http://a"}, {"s3.endpoint": "http://b"}, {"endpoint": "http://b"}),
    ],
)
def test_how_the_store_is_reached_is_kept(
    of_table: Mapping[str, str], of_credential: Mapping[str, str], connection: Mapping[str, str]
) -> None:
    offered = [StorageCredential(prefix=TABLE, config={**S3, **of_credential})]
    found = chosen(offered, (TABLE,), of_table)
    assert found is not None
    assert found.connection == connection
    assert "secret" not in repr(found)
    assert "secret" not in repr(offered)
