"""Tests for every token binding. Inherit the suite in the tests of your plugin.

class TestMyBinding(TokenBindingBehaviour):
    @pytest.fixture
    def binding(self) -> TokenBinding: ...
    @pytest.fixture
    def supported(self) -> Sequence[TemporaryCredentials]: ...
    @pytest.fixture
    def unsupported(self) -> Sequence[TemporaryCredentials]: ...
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sluicegate.api import (
    MarshalledCredentials,
    SluicegateError,
    TemporaryCredentials,
    TokenBinding,
    TokenIssuingPolicy,
    UnsupportedOperation,
)
from sluicegate_testing.checks.failures import Failure, check_kinds, check_texts

BUILT_IN = frozenset({"session", "role", "full"})
_JAVA_CLASS = re.compile(r"([a-z_]\w*\.)+[A-Z]\w*")
# A time that no clock of this century reaches, so that tests do not depend on the current date.
_LATER = 4_000_000_000_000
_OTHERS = (
    TemporaryCredentials(
        "abfss://lake@a.dfs.core.windows.net/t", "azure", {"sas_token": "sig=0123"}, _LATER
    ),
    TemporaryCredentials("gs://lake/t", "gcp", {"oauth_token": "ya29.0123"}, _LATER),
)


class TokenBindingBehaviour:
    """Inherit it as `Test…`, and provide the fixtures `binding` and `supported` (and `unsupported`)."""

    @pytest.fixture
    def binding(self) -> TokenBinding:
        """The binding under test."""
        raise NotImplementedError("provide a fixture 'binding'")

    @pytest.fixture
    def supported(self) -> Sequence[TemporaryCredentials]:
        """Credentials that tokens of this kind can contain; if possible, with and without expiry."""
        raise NotImplementedError("provide a fixture 'supported': [TemporaryCredentials]")

    @pytest.fixture
    def unsupported(self) -> Sequence[TemporaryCredentials]:
        """Credentials that tokens of this kind cannot contain, in addition to those of other clouds."""
        return ()

    def test_its_names_are_its_own(self, binding: TokenBinding) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9-]*", binding.name), "name: lower case letters and digits"
        assert binding.name not in BUILT_IN, "name: it is that of a binding of the gateway"
        assert re.fullmatch(r"[!-~]+", binding.kind), "kind: printable ASCII without spaces"
        assert not binding.kind.startswith("S3ADelegationToken/"), "kind: it is one of Hadoop's own"
        assert _JAVA_CLASS.fullmatch(binding.hadoop_class), (
            "hadoop_class: a Java class with its package"
        )
        assert binding.credentials in {None, *BUILT_IN}, (
            "credentials: a binding that vendors support, or None"
        )

    def test_its_policy_is_one_of_hadoop(self, binding: TokenBinding) -> None:
        assert isinstance(binding.issuing_policy, TokenIssuingPolicy)

    def test_it_marshals_what_it_supports(
        self, binding: TokenBinding, supported: Sequence[TemporaryCredentials]
    ) -> None:
        assert supported, "'supported' needs credentials"
        for credentials in supported:
            marshalled = binding.marshal(credentials)
            assert isinstance(marshalled, MarshalledCredentials)
            assert marshalled.access_key
            assert marshalled.secret_key

    def test_a_token_ends_no_later_than_its_credentials(
        self, binding: TokenBinding, supported: Sequence[TemporaryCredentials]
    ) -> None:
        """In Hadoop, 0 means "never"."""
        for credentials in supported:
            expiration = binding.marshal(credentials).expiration
            if credentials.expires_at is not None:
                assert 0 < expiration <= credentials.expires_at

    def test_the_same_credentials_are_marshalled_alike(
        self, binding: TokenBinding, supported: Sequence[TemporaryCredentials]
    ) -> None:
        first = [binding.marshal(credentials) for credentials in supported]
        again = [binding.marshal(credentials) for credentials in reversed(supported)]
        assert first == again[::-1]

    def test_other_credentials_are_unsupported(
        self, binding: TokenBinding, unsupported: Sequence[TemporaryCredentials]
    ) -> None:
        for credentials in (*_OTHERS, *unsupported):
            with pytest.raises(UnsupportedOperation):
                binding.marshal(credentials)

    def test_errors_are_those_of_the_api(
        self,
        binding: TokenBinding,
        supported: Sequence[TemporaryCredentials],
        unsupported: Sequence[TemporaryCredentials],
    ) -> None:
        check_kinds([failure for failure, _ in _failures(binding, [*supported, *unsupported])])

    def test_errors_hide_secrets(
        self,
        binding: TokenBinding,
        supported: Sequence[TemporaryCredentials],
        unsupported: Sequence[TemporaryCredentials],
    ) -> None:
        for failure, credentials in _failures(binding, [*supported, *unsupported]):
            check_texts([failure], _secrets(credentials), log=True)

    def test_its_texts_hide_secrets(
        self, binding: TokenBinding, supported: Sequence[TemporaryCredentials]
    ) -> None:
        for credentials in supported:
            shown = f"{binding.marshal(credentials)!r} {binding!r} {binding}"
            assert not any(secret in shown for secret in _secrets(credentials)), "repr shows a secret"


def _failures(
    binding: TokenBinding, given: Sequence[TemporaryCredentials]
) -> list[tuple[Failure, TemporaryCredentials]]:
    """Return the errors for complete credentials, and for those with one missing field."""
    found: list[tuple[Failure, TemporaryCredentials]] = []
    for credentials in (*_OTHERS, *given):
        for missing in (None, *credentials.secret):
            fields = {name: text for name, text in credentials.secret.items() if name != missing}
            try:
                binding.marshal(replace(credentials, secret=fields))
            except SluicegateError as error:
                found.append((Failure("marshal", error), credentials))
            except Exception as error:
                found.append((Failure(f"marshal without {missing}", error), credentials))
    return found


def _secrets(credentials: TemporaryCredentials) -> set[str]:
    return {text for name, text in credentials.secret.items() if name != "access_key_id" and text}
