"""A token binding with one mistake in each suite; `caught_by` names the check that must find it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from sluicegate.api import (
    MarshalledCredentials,
    TemporaryCredentials,
    TokenBinding,
    UnsupportedOperation,
)
from sluicegate_testing.token_bindings import TokenBindingBehaviour

SESSION = TemporaryCredentials(
    "s3://lake/orders",
    "aws",
    {"access_key_id": "AKIA", "secret_access_key": "s3cr3t-key", "session_token": "s3ss10n"},
    4_000_000_000_000,
)
LONG_LIVED = replace(
    SESSION, secret={"access_key_id": "AKIA", "secret_access_key": "s3cr3t-key"}, expires_at=None
)


class Vault(TokenBinding):
    """A correct binding, of sessions."""

    name = "vault"
    kind = "Acme/Vault"
    hadoop_class = "com.acme.VaultBinding"
    credentials: str | None = "role"

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        secret = credentials.secret
        needed = ("access_key_id", "secret_access_key", "session_token")
        if credentials.kind != "aws" or not all(secret.get(name) for name in needed):
            raise UnsupportedOperation("tokens of the vault carry sessions of S3 only")
        return MarshalledCredentials(
            secret["access_key_id"],
            secret["secret_access_key"],
            secret["session_token"],
            expiration=credentials.expires_at or 0,
        )


class TestVault(TokenBindingBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[Vault]] = Vault

    @pytest.fixture
    def binding(self) -> TokenBinding:
        return self.kind()

    @pytest.fixture
    def supported(self) -> Sequence[TemporaryCredentials]:
        return [SESSION]

    @pytest.fixture
    def unsupported(self) -> Sequence[TemporaryCredentials]:
        return [LONG_LIVED]


class TakesABuiltInName(Vault):
    name = "session"


class TestTakesABuiltInName(TestVault):
    caught_by = "test_its_names_are_its_own"
    kind = TakesABuiltInName


class HasNoPolicy(Vault):
    issuing_policy = "always"  # type: ignore[assignment]


class TestHasNoPolicy(TestVault):
    caught_by = "test_its_policy_is_one_of_hadoop"
    kind = HasNoPolicy


class LosesTheSecretKey(Vault):
    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        return replace(super().marshal(credentials), secret_key="")


class TestLosesTheSecretKey(TestVault):
    caught_by = "test_it_marshals_what_it_supports"
    kind = LosesTheSecretKey


class NeverEnds(Vault):
    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        return replace(super().marshal(credentials), expiration=0)


class TestNeverEnds(TestVault):
    caught_by = "test_a_token_ends_no_later_than_its_credentials"
    kind = NeverEnds


class Counts(Vault):
    numbers: ClassVar[itertools.count[int]] = itertools.count()

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        return replace(super().marshal(credentials), role_arn=f"{next(self.numbers)}")


class TestCounts(TestVault):
    caught_by = "test_the_same_credentials_are_marshalled_alike"
    kind = Counts


class TakesLongLivedKeys(Vault):
    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        session = {**credentials.secret, "session_token": "none"}
        return super().marshal(replace(credentials, secret=session))


class TestTakesLongLivedKeys(TestVault):
    caught_by = "test_other_credentials_are_unsupported"
    kind = TakesLongLivedKeys


class DoesNotCheck(Vault):
    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        secret = credentials.secret
        return MarshalledCredentials(secret["access_key_id"], secret["secret_access_key"])


class TestDoesNotCheck(TestVault):
    caught_by = "test_errors_are_those_of_the_api"
    kind = DoesNotCheck


class SecretInTheMessage(Vault):
    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        try:
            return super().marshal(credentials)
        except UnsupportedOperation as error:
            raise UnsupportedOperation(f"not supported: {dict(credentials.secret)}") from error


class TestSecretInTheMessage(TestVault):
    caught_by = "test_errors_hide_secrets"
    kind = SecretInTheMessage


@dataclass(frozen=True)
class Shown(MarshalledCredentials):
    shown: str = ""


class SecretInTheRepr(Vault):
    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        made = super().marshal(credentials)
        return Shown(
            made.access_key, made.secret_key, expiration=made.expiration, shown=made.secret_key
        )


class TestSecretInTheRepr(TestVault):
    caught_by = "test_its_texts_hide_secrets"
    kind = SecretInTheRepr
