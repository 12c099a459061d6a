"""Plugins say who somebody is; the gateway says whether that recipient is let in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from access.conftest import Apply
from support.process.installed import AUTHENTICATOR, Site, installed_site
from support.servers.migrated import new_sqlite

from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import ConfigurationError, Unauthenticated
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.database import Store

DECLARED = """
shares: {sales: {}}
recipients:
  acme: {shares: [sales]}
  fenced: {allow_from: [203.0.113.0/24]}
"""


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough here."""
    return new_sqlite(tmp_path / "sluicegate.db")


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with installed_site(tmp_path_factory.mktemp("site")) as site:
        site.install("own", AUTHENTICATOR)
        yield site


@pytest.fixture
async def http(
    site: Site, database_url: str, store: Store, apply: Apply
) -> AsyncIterator[httpx.AsyncClient]:
    """A whole gateway with the plugin."""
    await apply(DECLARED)
    section = {"type": "own", "password": "open sesame"}
    settings = Settings.model_validate(
        {"database": database_url, "authentication": {"authenticators": [section]}}
    )
    async with (
        Gateway.running(settings) as gateway,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(gateway.asgi()), base_url="http://gateway"
        ) as client,
    ):
        yield client


async def ask(http: httpx.AsyncClient, authorization: str) -> httpx.Response:
    return await http.get("/delta-sharing/shares", headers={"Authorization": authorization})


async def test_a_recipient_that_the_plugin_names_is_let_in(http: httpx.AsyncClient) -> None:
    answer = await ask(http, "own-1 acme:open sesame")
    assert [share["name"] for share in answer.json()["items"]] == ["sales"]


@pytest.mark.parametrize(
    ("authorization", "status", "says"),
    [
        ("own-1 acme:guess", 401, "the password is wrong"),
        ("own-1 nobody:open sesame", 401, "not registered as a recipient"),
        ("own-1 ACME:open sesame", 401, "not registered as a recipient"),
        ("own-1 fenced:open sesame", 403, "may not call from this address"),
        ("own-2 acme:open sesame", 401, "malformed"),
        ("Bearer own-1 acme:open sesame", 401, "malformed"),
    ],
)
async def test_everybody_else_is_refused(
    http: httpx.AsyncClient, authorization: str, status: int, says: str
) -> None:
    answer = await ask(http, authorization)
    assert (answer.status_code, says in answer.json()["message"]) == (status, True)


async def test_a_revoked_recipient_is_refused_whatever_the_plugin_says(
    http: httpx.AsyncClient, recipients: Recipients
) -> None:
    await recipients.revoke("acme")
    answer = await ask(http, "own-1 acme:open sesame")
    assert (answer.status_code, "was revoked" in answer.json()["message"]) == (401, True)


SIGNED = """
from sluicegate.api import Authenticator, AuthenticatorType, PluginConfig, Principal
from sluicegate.api import Unauthenticated, hookimpl

class Signed(Authenticator):
    challenge = 'Signature realm="lake"'
    def __init__(self, config, context):
        pass
    async def authenticate(self, request):
        signature = request.headers.get("X-Signature")
        if signature is None:
            return None
        if signature == "busy":
            raise Unauthenticated("try another", challenge="Signature nonce=1")
        if signature != f"{request.method} {request.path} {request.query}":
            raise Unauthenticated("the signature is wrong")
        return Principal("", "acme", "signature")

@hookimpl
def sluicegate_register_authenticators():
    return [AuthenticatorType("signed", PluginConfig, Signed)]
"""


@pytest.fixture
async def signing(
    site: Site, database_url: str, store: Store, apply: Apply
) -> AsyncIterator[httpx.AsyncClient]:
    """A gateway whose authenticator reads something else than `Authorization`."""
    site.install("signed", SIGNED)
    await apply(DECLARED)
    sections = [{"type": "signed"}, {"type": "own", "password": "x"}]
    settings = Settings.model_validate(
        {"database": database_url, "authentication": {"authenticators": sections}}
    )
    async with (
        Gateway.running(settings) as gateway,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(gateway.asgi()), base_url="http://gateway"
        ) as client,
    ):
        yield client


async def test_an_authenticator_sees_method_path_query_and_headers(signing: httpx.AsyncClient) -> None:
    path = "/delta-sharing/shares/s%61les"
    signature = {"X-Signature": f"GET {path} maxResults=1"}
    answer = await signing.get(f"{path}?maxResults=1", headers=signature)
    assert (answer.status_code, answer.json()["share"]["name"]) == (200, "sales")


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        ({}, 'Bearer, Signature realm="lake"'),
        ({"Authorization": "Unknown x"}, 'Bearer, Signature realm="lake"'),
        ({"Authorization": "Bearer x"}, 'Bearer error="invalid_token"'),
        ({"X-Signature": "wrong"}, 'Signature realm="lake"'),
        ({"X-Signature": "busy"}, "Signature nonce=1"),
    ],
)
async def test_a_refusal_carries_the_challenge_of_who_refuses(
    signing: httpx.AsyncClient, headers: dict[str, str], challenge: str
) -> None:
    for path in ("/delta-sharing/shares", "/iceberg/v1/config?warehouse=sales"):
        answer = await signing.get(path, headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, challenge)


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({}, "the request has no credentials"),
        ({"Authorization": "Unknown x"}, "the Authorization header is malformed"),
        ({"Authorization": "Bearer x"}, "the bearer token is malformed"),
    ],
)
async def test_a_refusal_names_all_credentials_that_the_gateway_accepts(
    signing: httpx.AsyncClient, headers: dict[str, str], problem: str
) -> None:
    answer = await signing.get("/delta-sharing/shares", headers=headers)
    assert answer.json()["message"] == (
        f"{problem}; send 'Authorization: Bearer <token>' with the token of your profile, or "
        'credentials for Signature realm="lake", or other credentials that you have agreed with the '
        "provider"
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("(self, request)", "(self, authorization, address)", "must take one AuthenticationRequest"),
        ("'Signature realm=\"lake\"'", "'two\\nlines'", "a line of printable ASCII"),
        ("'Signature realm=\"lake\"'", "''", "a line of printable ASCII"),
    ],
)
async def test_an_authenticator_that_cannot_answer_refuses_the_start(
    site: Site, database_url: str, old: str, new: str, problem: str
) -> None:
    assert old in SIGNED
    site.install("signed", SIGNED.replace(old, new))
    settings = Settings.model_validate(
        {"database": database_url, "authentication": {"authenticators": [{"type": "signed"}]}}
    )
    with pytest.raises(ConfigurationError, match=problem):
        async with Gateway.running(settings):
            pass


def test_a_challenge_is_one_line() -> None:
    for challenge in ("a\r\nSet-Cookie: x", "", " ", "é"):
        with pytest.raises(ValueError, match="printable ASCII"):
            Unauthenticated("no", challenge=challenge)
