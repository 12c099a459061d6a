"""Authenticators that return or raise what they should not: nobody is let in, nothing is injected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from access.conftest import Apply

from sluicegate.access.authentication.plugin import PluginAuthenticator
from sluicegate.access.grants import Grants
from sluicegate.api import AuthenticationRequest, Authenticator, Principal
from sluicegate.api.errors import ConfigurationError, Unauthenticated, Unavailable
from sluicegate.database import Store
from sluicegate.http.responses import error_response
from sluicegate.plugins.instances import check_authenticator

REQUEST = AuthenticationRequest("GET", "/")


class Naming(Authenticator):
    """Answers a given name."""

    def __init__(self, name: Any) -> None:
        self.name = name

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        return Principal("", self.name, "test")


@pytest.mark.parametrize("name", ["acme\x00", "\x00", "a\udc80cme", "x" * 300, "", "acme\n", " acme"])
async def test_a_name_that_no_recipient_can_have_is_unknown(
    store: Store, apply: Apply, name: str
) -> None:
    await apply("recipients: {acme: {}}")
    with pytest.raises(Unauthenticated, match="not registered as a recipient") as caught:
        await PluginAuthenticator(Naming(name), Grants(store)).authenticate(REQUEST)
    assert caught.value.detail == f"the authenticator returned the name {name[:80]!r}"


@pytest.mark.parametrize(
    ("recipient", "name"), [("acme", "ACME"), ("straße", "strasse"), ("strasse", "straße")]
)
async def test_a_name_that_differs_in_case_can_be_of_another_user(
    store: Store, apply: Apply, recipient: str, name: str
) -> None:
    await apply(f"recipients: {{{recipient}: {{}}}}")
    grants = Grants(store)
    assert await grants.recipient(name) is not None
    known = await PluginAuthenticator(Naming(recipient), grants).authenticate(REQUEST)
    assert known is not None
    assert known.name == recipient
    with pytest.raises(Unauthenticated, match="not registered as a recipient") as caught:
        await PluginAuthenticator(Naming(name), grants).authenticate(REQUEST)
    assert caught.value.detail == f"the authenticator returned the name {name!r}"


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [({}, "Bearer"), ({"authorization": "Own x"}, "Bearer"), ({"authorization": "Bearer x"}, None)],
)
async def test_only_a_token_that_was_sent_is_called_invalid(
    store: Store, authorization: dict[str, str], challenge: str | None
) -> None:
    request = AuthenticationRequest("GET", "/", headers=authorization)
    with pytest.raises(Unauthenticated) as raised:
        await PluginAuthenticator(Naming("nobody"), Grants(store)).authenticate(request)
    assert raised.value.challenge == challenge


class Hanging(Authenticator):
    """Never answers."""

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        await asyncio.Event().wait()
        return None


async def test_an_authenticator_that_hangs_holds_no_request_for_long(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.access.authentication.plugin._TIMEOUT_SECONDS", 0.01)
    async with asyncio.timeout(5):
        with pytest.raises(Unavailable, match="try again later") as raised:
            await PluginAuthenticator(Hanging(), Grants(store)).authenticate(REQUEST)
    assert raised.value.detail == "the authenticator Hanging did not respond within 0.01 seconds"


class Splitting(Unauthenticated):
    """Sets its challenge later than the check in the base class."""

    def __init__(self) -> None:
        super().__init__("no")
        self.challenge = "Signature x\r\nSet-Cookie: a=b"


def test_a_challenge_that_is_set_later_is_one_line_too() -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        Splitting()
    error = Unauthenticated("no")
    for challenge in ("a\r\nSet-Cookie: x", "", "é"):
        with pytest.raises(ValueError, match="printable ASCII"):
            error.challenge = challenge
    assert error_response(error).headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


@pytest.mark.parametrize("challenge", [5, b"Basic", ["Basic"], True])
def test_a_challenge_of_another_type_refuses_the_start(challenge: Any) -> None:
    plugin = Naming("acme")
    plugin.challenge = challenge
    with pytest.raises(ConfigurationError, match="'own' \\(type own\\): a challenge is"):
        check_authenticator("own", "own", plugin)
