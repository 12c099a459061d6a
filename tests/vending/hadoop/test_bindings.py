from __future__ import annotations

import pytest

from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    MarshalledCredentials,
    PermissionDenied,
    Principal,
    SharedTable,
    TemporaryCredentials,
    TokenBinding,
    UnsupportedOperation,
)
from sluicegate.api.hadoop_tokens import FULL_KIND, ROLE_KIND, SESSION_KIND
from sluicegate.vending.hadoop.bindings import FullBinding, SessionBinding, TokenBindings
from sluicegate.vending.hadoop.buckets import TableDirectories, by_bucket
from sluicegate.vending.hadoop.issue import hadoop_configuration

KEY = {"access_key_id": "AKIA", "secret_access_key": "secret"}
SESSION = {**KEY, "session_token": "session"}


class Vault(TokenBinding):
    """What a plugin adds."""

    name = "vault"
    kind = "Acme/Vault"
    hadoop_class = "com.acme.VaultBinding"
    credentials = "role"

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        return MarshalledCredentials("from the vault", "secret")


def recipient(allowed: str | None = None) -> Principal:
    properties = {} if allowed is None else {"hadoop_token_bindings": allowed}
    return Principal("1", "acme", "bearer", properties=properties)


@pytest.mark.parametrize(
    ("asked", "allowed", "kind"),
    [
        (None, None, SESSION_KIND),
        ("session", None, SESSION_KIND),
        ("role", "session, role", ROLE_KIND),
        (FULL_KIND, " full ", FULL_KIND),
        ("vault", "vault", "Acme/Vault"),
        ("Acme/Vault", "vault", "Acme/Vault"),
    ],
)
def test_a_binding_is_found_by_its_name_or_kind(
    asked: str | None, allowed: str | None, kind: str
) -> None:
    assert TokenBindings([Vault()]).find(asked, recipient(allowed)).kind == kind


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [("role", None), ("full", "session,role"), ("session", "full"), (None, ""), ("vault", None)],
)
def test_what_a_recipient_may_not_have_is_refused(asked: str | None, allowed: str | None) -> None:
    with pytest.raises(PermissionDenied):
        TokenBindings([Vault()]).find(asked, recipient(allowed))


def test_an_unknown_binding_is_reported_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match="session, role, full, vault"):
        TokenBindings([Vault()]).find("kerberos", recipient())


@pytest.mark.parametrize(
    ("binding", "kind", "secret"),
    [
        (SessionBinding(), "aws", KEY),
        (FullBinding(), "aws", SESSION),
        (SessionBinding(), "azure", {"sas_token": "sas"}),
        (FullBinding(), "gcp", {"oauth_token": "token"}),
    ],
)
def test_credentials_that_a_kind_does_not_carry_are_refused(
    binding: TokenBinding, kind: str, secret: dict[str, str]
) -> None:
    credentials = TemporaryCredentials("x://lake/t", kind, secret, None)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedOperation):
        binding.marshal(credentials)


def table(name: str, *locations: str) -> TableDirectories:
    shared = SharedTable(name, "lake", "s", "sales", name, "raw", name)
    return TableDirectories(shared, CatalogTable(name, "delta", locations[0]), locations)


def test_each_bucket_gets_all_directories_that_lie_in_it() -> None:
    tables = [
        table("a", "s3://one/a", "s3://two/more"),
        table("b", "s3://two/b"),
        table("c", "s3://one/c", "s3://one/a"),
    ]
    assert [
        (scope.service, [each.shared.name for each in scope.tables], scope.locations)
        for scope in by_bucket(tables)
    ] == [
        ("s3a://one", ["a", "c"], ("s3://one/a", "s3://one/c")),
        ("s3a://two", ["a", "b"], ("s3://two/b", "s3://two/more")),
    ]


def test_tables_elsewhere_have_no_tokens() -> None:
    with pytest.raises(UnsupportedOperation, match=r"lake\.sales\.a is not in S3"):
        by_bucket([table("a", "abfss://container@account/a")])


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        ({}, {}),
        ({"region": "eu-west-1"}, {"endpoint.region": "eu-west-1"}),
        (
            {"endpoint": "http://127.0.0.1:8333", "path_style": "true"},
            {
                "endpoint": "http://127.0.0.1:8333",
                "connection.ssl.enabled": "false",
                "path.style.access": "true",
            },
        ),
        (
            {"endpoint": "https://s3.acme.example"},
            {"endpoint": "https://s3.acme.example", "connection.ssl.enabled": "true"},
        ),
    ],
)
def test_settings_are_of_the_bucket_alone_and_pin_the_provider(
    connection: dict[str, str], expected: dict[str, str]
) -> None:
    pinned = {
        "delegation.token.binding": "com.acme.VaultBinding",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
    }
    assert hadoop_configuration("my.lake", Vault(), connection) == {
        f"fs.s3a.bucket.my.lake.{name}": value for name, value in (pinned | expected).items()
    }
