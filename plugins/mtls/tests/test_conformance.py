"""The conformance tests of authenticators, with client certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sluicegate.api import (
    AuthenticationRequest,
    Authenticator,
    ClientCertificate,
    Principal,
    Unauthenticated,
)
from sluicegate_mtls.authenticator import MtlsAuthenticator
from sluicegate_mtls.config import MtlsConfig
from sluicegate_mtls.plugin import sluicegate_register_authenticators
from sluicegate_testing.authenticators import AuthenticatorBehaviour, Presented
from sluicegate_testing.fakes import FakeContext, authentication_request

ACME = ClientCertificate(
    subject="CN=acme,O=Acme Corp",
    issuer="CN=Recipients",
    serial_number=1,
    fingerprint="ab" * 32,
    not_before=0,
    not_after=1,
    common_names=("acme",),
    dns_names=("one.example", "two.example"),
    uris=("spiffe://acme/x",),
    emails=("a@acme.example",),
)


def authenticator(**settings: Any) -> MtlsAuthenticator:
    (known,) = sluicegate_register_authenticators()
    built = known.factory(MtlsConfig(**settings), FakeContext())
    assert isinstance(built, MtlsAuthenticator)
    return built


def showing(fingerprint: str) -> AuthenticationRequest:
    return authentication_request(certificate=replace(ACME, fingerprint=fingerprint))


class TestMtls(AuthenticatorBehaviour):
    """Fingerprints identify recipients."""

    can_fail = False

    @pytest.fixture
    def authenticator(self) -> Authenticator:
        return authenticator(
            identity="fingerprint", recipients={"ab" * 32: "acme", "cd" * 32: "umbrella"}
        )

    @pytest.fixture
    def accepted(self) -> Sequence[tuple[Presented, str]]:
        return [(showing("ab" * 32), "acme"), (showing("cd" * 32), "umbrella")]

    @pytest.fixture
    def refused(self) -> Sequence[Presented]:
        return [showing("ef" * 32), showing("ab" * 31), showing("AB" * 32)]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "acme"),
        ({"identity": "uri", "recipients": {"spiffe://acme/x": "Acme"}}, "Acme"),
        ({"identity": "email"}, "a@acme.example"),
        ({"identity": "subject", "recipients": {"CN=acme,O=Acme Corp": "acme"}}, "acme"),
        ({"identity": "fingerprint", "recipients": {"ab" * 32: "acme"}}, "acme"),
        ({"issuers": ["CN=Other", "CN=Recipients"]}, "acme"),
    ],
)
async def test_a_certificate_identifies_a_recipient(settings: dict[str, Any], name: str) -> None:
    found = await authenticator(**settings).authenticate(authentication_request(certificate=ACME))
    assert found == Principal(id="", name=name, method="mtls")


async def test_requests_that_show_something_else_are_left_to_others() -> None:
    own = authenticator()
    assert await own.authenticate(authentication_request()) is None
    for header in ("Bearer wrong", "Basic eDp5"):
        assert await own.authenticate(authentication_request(header, certificate=ACME)) is None
    other = authenticator(issuers=["CN=Other"])
    assert await other.authenticate(authentication_request(certificate=ACME)) is None


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"identity": "dns_name"}, "exactly one dns name, but it contains 2"),
        ({"recipients": {"other": "acme"}}, "is not registered for a recipient"),
        ({"recipients": {}}, "is not registered for a recipient"),
    ],
)
async def test_a_certificate_that_identifies_nobody_is_refused(
    settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Unauthenticated, match=problem) as raised:
        await authenticator(**settings).authenticate(authentication_request(certificate=ACME))
    assert "acme" not in raised.value.message


async def test_a_refusal_of_the_gateway_is_passed_on() -> None:
    async def expired() -> ClientCertificate | None:
        raise Unauthenticated("the client certificate has expired")

    request = replace(authentication_request(), read_certificate=expired)
    with pytest.raises(Unauthenticated, match="has expired"):
        await authenticator().authenticate(request)
