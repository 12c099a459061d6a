"""The login at an OIDC issuer: code flow with PKCE, state and nonce."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from console.browser import Browser
from console.conftest import Site, settings
from support.servers.issuer import AUDIENCE, DISCOVERY, JWKS, TOKEN, Issuer, running_issuer

from sluicegate.app import Gateway

CLIENT, SECRET = "console", "the secret of the client"
CALLBACK = "https://share.example/console/login/callback"
SESSION = "__Host-sluicegate-session"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


@pytest.fixture
async def oidc_site(issuer: Issuer, database_url: str) -> AsyncIterator[Site]:
    """A gateway whose console logs administrators in at the issuer."""
    issuer.answers.clear()
    issuer.posted.clear()
    publish(issuer)
    roles = {"staff": "viewer", "sales": {"role": "admin", "shares": ["sales"]}}
    admin = {"oidc": [{"issuer": issuer.address, "audience": AUDIENCE, "roles": roles}]}
    client = {
        "issuer": issuer.address,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "label": "Acme ID",
    }
    configured = settings(database_url, admin=admin, console={"oidc": client})
    async with AsyncExitStack() as stack:
        yield Site(await stack.enter_async_context(Gateway.running(configured)))


def publish(published: Issuer, **changed: Any) -> None:
    """Publish the endpoints of the issuer."""
    document = {
        "issuer": published.address,
        "jwks_uri": published.address + JWKS,
        "authorization_endpoint": f"{published.address}/authorize?tenant=1",
        "token_endpoint": published.address + TOKEN,
    }
    published.answers[DISCOVERY] = 200, {}, json.dumps(document | changed).encode()


class Login:
    """A login in a browser, up to the issuer's login page."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser = browser
        self.address = address
        self.query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}

    @classmethod
    async def start(cls, site: Site, wanted: str = "") -> Login:
        browser = site.browser()
        page = await browser.open(f"/console/login?{urlencode({'next': wanted})}")
        (link,) = [each for each in page.links if "/login/start" in each]
        answer = await browser.send("GET", link.removeprefix("https://share.example"))
        assert answer.status == 303
        return cls(browser, answer.headers["location"])

    def issue(self, issuer: Issuer, **claims: Any) -> None:
        """Let the issuer return an ID token for this login."""
        good = {"aud": CLIENT, "sub": "ada", "roles": ["staff"], "nonce": self.query["nonce"]}
        body = json.dumps({"id_token": issuer.token(**{**good, **claims})}).encode()
        issuer.answers[TOKEN] = 200, {}, body

    async def finish(self, **changed: str | None) -> Any:
        """The page after the issuer has sent the browser back."""
        query = {"code": "a code", "state": self.query["state"], **changed}
        given = {name: value for name, value in query.items() if value is not None}
        return await self.browser.open(f"/console/login/callback?{urlencode(given)}")


async def test_an_administrator_logs_in_at_the_issuer(oidc_site: Site, issuer: Issuer) -> None:
    login = await Login.start(oidc_site, "/console/shares?filter=x")
    assert login.address.startswith(f"{issuer.address}/authorize?tenant=1&")
    assert login.query | {"state": "", "nonce": "", "code_challenge": ""} == {
        "tenant": "1",
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": CALLBACK,
        "scope": "openid",
        "state": "",
        "nonce": "",
        "code_challenge": "",
        "code_challenge_method": "S256",
    }
    login.issue(issuer)
    page = await login.finish(iss=issuer.address)
    assert page.address == "https://share.example/console/shares?filter=x"
    assert "ada" in page.source
    ((authorization, body),) = issuer.posted
    assert (
        authorization
        == "Basic " + base64.b64encode(f"{CLIENT}:the+secret+of+the+client".encode()).decode()
    )
    sent = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest())
    assert challenge.decode().rstrip("=") == login.query["code_challenge"]
    assert (sent["code"], sent["redirect_uri"]) == ("a code", CALLBACK)
    assert "client_secret" not in sent


async def test_the_role_is_that_of_the_claims(oidc_site: Site, issuer: Issuer) -> None:
    login = await Login.start(oidc_site)
    login.issue(issuer, roles=["staff", "sales"])
    page = await login.finish()
    assert "(admin of some shares)" in page.source


async def test_a_secret_is_in_the_form_if_the_issuer_accepts_nothing_else(
    oidc_site: Site, issuer: Issuer
) -> None:
    publish(issuer, token_endpoint_auth_methods_supported=["client_secret_post"])
    login = await Login.start(oidc_site)
    login.issue(issuer)
    assert (await login.finish()).heading == "Overview"
    ((authorization, body),) = issuer.posted
    assert authorization is None
    assert parse_qs(body.decode())["client_secret"] == [SECRET]


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"state": "another"}, 400),
        ({"state": None}, 400),
        ({"code": None}, 401),
        ({"error": "access_denied"}, 401),
        ({"iss": "https://evil.example"}, 400),
    ],
)
async def test_a_forged_response_is_refused(
    oidc_site: Site, issuer: Issuer, changed: dict[str, str | None], status: int
) -> None:
    login = await Login.start(oidc_site)
    login.issue(issuer)
    page = await login.finish(**changed)
    assert page.status == status
    assert SESSION not in login.browser.cookies
    assert issuer.posted == []


async def test_a_response_in_another_browser_is_refused(oidc_site: Site, issuer: Issuer) -> None:
    login = await Login.start(oidc_site)
    login.issue(issuer)
    login.browser = oidc_site.browser()
    page = await login.finish()
    assert (page.status, "was not started in this browser" in page.text) == (400, True)


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"nonce": "another"}, 401),
        ({"nonce": None}, 401),
        ({"aud": AUDIENCE}, 401),
        ({"aud": [CLIENT, "other"], "azp": "other"}, 401),
        ({"iss": "https://evil.example"}, 401),
        ({"exp": 1}, 401),
        ({"sub": None}, 401),
        ({"roles": []}, 403),
    ],
)
async def test_an_id_token_of_something_else_is_refused(
    oidc_site: Site, issuer: Issuer, claims: dict[str, Any], status: int
) -> None:
    login = await Login.start(oidc_site)
    login.issue(issuer, **claims)
    page = await login.finish()
    assert page.status == status
    assert SESSION not in login.browser.cookies


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((400, {}, b'{"error": "invalid_grant"}'), 401),
        ((500, {}, b""), 503),
        ((200, {}, b"[]"), 503),
        ((200, {}, b"{}"), 401),
        ((200, {}, b'{"id_token": "a.b.c"}'), 401),
    ],
)
async def test_a_failure_of_the_issuer_is_a_page(
    oidc_site: Site, issuer: Issuer, answer: tuple[int, dict[str, str], bytes], status: int
) -> None:
    login = await Login.start(oidc_site)
    issuer.answers[TOKEN] = answer
    page = await login.finish()
    assert page.status == status
    assert SECRET not in page.source


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"token_endpoint": None},
    ],
)
async def test_endpoints_that_cannot_be_trusted_are_not_used(
    oidc_site: Site, issuer: Issuer, changed: dict[str, Any]
) -> None:
    publish(issuer, **changed)
    browser = oidc_site.browser()
    page = await browser.open("/console/login/start")
    assert (page.status, "log in with a token" in page.text) == (503, True)


async def test_tokens_of_the_issuer_are_no_sessions(oidc_site: Site, issuer: Issuer) -> None:
    browser = oidc_site.browser()
    await browser.open("/console/login")
    page = await browser.submit("Log in", token=issuer.token(roles=["staff"]))
    assert (page.status, SESSION in browser.cookies) == (401, False)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"admin": None}, "the console needs the section admin"),
        (
            {"console": {"oidc": {"issuer": "https://a.example", "client_id": "c"}}},
            "none of the issuers of admin.oidc",
        ),
    ],
)
def test_a_console_without_administrators_is_refused(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings("sqlite:///x.db", **sections)
