"""The token endpoint: each kind of good and bad request, and what guessing costs."""

from __future__ import annotations

import asyncio
import logging
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote_plus, urlencode

import httpx
import pytest
from access.conftest import Apply
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from support.process.clock import Clock
from support.servers.migrated import new_sqlite

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.jwt import TokenVerifier, VerifiedTokens, WebTokens
from sluicegate.access.authentication.oauth.access_tokens import AccessTokenIssuer
from sluicegate.access.authentication.oauth.endpoint import TokenEndpoint
from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.access.authentication.oauth.requests import OAuthError, TokenRequest
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import PayloadTooLarge
from sluicegate.database import Store
from sluicegate.http.responses import as_sluicegate_error, error_response
from sluicegate.signing.keyring import KeyRing
from sluicegate_testing.fakes import authentication_request as asking

SECOND = 1000
GRANT = {"grant_type": "client_credentials"}
FORM = "application/x-www-form-urlencoded"
WRONG = "client_id or client_secret is wrong"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough: `test_recipients.py` and `test_grants.py` ask both."""
    return new_sqlite(tmp_path / "sluicegate.db")


@dataclass
class Waits:
    """Stands for the passing of time: refusals wait until they are let go."""

    waiting: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, seconds: float) -> None:
        self.waiting += 1
        assert seconds > 0
        await self.gate.wait()


@dataclass(frozen=True)
class RunningEndpoint:
    """The endpoint, what accepts its tokens, and a client with its recipient."""

    http: httpx.AsyncClient
    authentication: Authentication
    waits: Waits
    client: IssuedCredential

    async def ask(
        self, form: dict[str, str] | str, user: str | None = None, password: str | None = None
    ) -> httpx.Response:
        """Ask with a form, and credentials in the header if any are given."""
        content = form if isinstance(form, str) else urlencode(form)
        headers = {"content-type": FORM}
        if user is not None:
            headers["authorization"] = basic(user, password or "")
        return await self.http.post("/oauth/token", content=content, headers=headers)

    async def ask_well(self) -> httpx.Response:
        """Ask as the official clients do."""
        return await self.ask(GRANT, self.client.client_id, self.client.secret)


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


async def answer_error(request: Request, error: Exception) -> Response:
    """As the gateway does."""
    return error_response(as_sluicegate_error(error))


@pytest.fixture
def grants(store: Store) -> Grants:
    return Grants(store, max_age=0)


@pytest.fixture
async def oauth(
    grants: Grants, recipients: Recipients, clock: Clock, apply: Apply
) -> AsyncIterator[RunningEndpoint]:
    """Refusals wait for nothing, until a test says so."""
    await apply("recipients: {acme: {}, fenced: {allow_from: [203.0.113.0/24]}}")
    tokens = AccessTokenIssuer(KeyRing((b"k" * 32,)), grants, 60, clock=lambda: clock() / SECOND)

    async def own() -> AccessTokenIssuer:
        return tokens

    async def verifiers() -> list[TokenVerifier]:
        return [tokens]

    waits = Waits()
    waits.gate.set()
    endpoint = TokenEndpoint(
        grants,
        own,
        throttle=FailedLoginThrottle(sleep=waits, capacity=2),
        now=clock,
    )
    app = Starlette(routes=endpoint.routes(), exception_handlers={PayloadTooLarge: answer_error})
    web = WebTokens(verifiers, VerifiedTokens(), clock=lambda: clock() / SECOND)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="https://gateway.example") as http:
        issued = await recipients.rotate("acme", kind="oauth")
        yield RunningEndpoint(http, Authentication([web]), waits, issued)


async def granted(oauth: RunningEndpoint, answer: httpx.Response, scope: str = "delta-sharing") -> str:
    """The recipient whom a granted token proves."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "private, no-store"
    body = answer.json()
    assert body.keys() == {"access_token", "token_type", "expires_in", "scope"}
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("bearer", 60, scope)
    principal = await oauth.authentication.authenticate(asking(f"Bearer {body['access_token']}", None))
    assert principal.method == "oauth"
    return principal.name


@pytest.mark.parametrize(
    "form",
    [
        GRANT,
        GRANT | {"scope": "delta-sharing"},
        GRANT | {"scope": ""},
        GRANT | {"client_id": "{client_id}"},
        GRANT | {"resource": "https://elsewhere.example", "audience": "anything"},
    ],
    ids=str,
)
async def test_credentials_in_the_header_get_a_token(
    oauth: RunningEndpoint, form: dict[str, str]
) -> None:
    form = {name: value.format(client_id=oauth.client.client_id) for name, value in form.items()}
    answer = await oauth.ask(form, oauth.client.client_id, oauth.client.secret)
    assert await granted(oauth, answer) == "acme"


@pytest.mark.parametrize("scope", ["catalog", "delta-sharing catalog"])
async def test_clients_of_iceberg_catalogs_get_a_token_where_they_look_for_it(
    oauth: RunningEndpoint, scope: str
) -> None:
    form = GRANT | {"scope": scope}
    client = (str(oauth.client.client_id), oauth.client.secret)
    answer = await oauth.http.post("/iceberg/v1/oauth/tokens", data=form, auth=client)
    assert await granted(oauth, answer, scope) == "acme"


async def test_credentials_in_the_body_get_a_token(oauth: RunningEndpoint) -> None:
    client = {"client_id": str(oauth.client.client_id), "client_secret": oauth.client.secret}
    assert await granted(oauth, await oauth.ask(GRANT | client)) == "acme"


async def test_credentials_in_the_header_may_be_percent_encoded(oauth: RunningEndpoint) -> None:
    encoded = "".join(f"%{ord(each):02X}" for each in oauth.client.secret)
    answer = await oauth.ask(GRANT, quote_plus(str(oauth.client.client_id)), encoded)
    assert await granted(oauth, answer) == "acme"


@dataclass(frozen=True)
class Bad:
    """A request with something wrong; `{id}` and `{secret}` are the right ones."""

    says: str
    error: str
    form: str = "grant_type=client_credentials"
    authorization: str | None = "{basic}"
    content_type: str = FORM
    status: int = 400

    def __str__(self) -> str:
        return f"{self.authorization} {self.content_type} {self.form}"[:90]


IN_BODY = "grant_type=client_credentials&client_id={id}&client_secret={secret}"
BAD = [
    Bad("grant_type is missing", "invalid_request", form=""),
    Bad("grant_type is missing", "invalid_request", form="grant_type="),
    Bad("must be client_credentials", "unsupported_grant_type", form="grant_type=password"),
    Bad(
        "must be client_credentials",
        "unsupported_grant_type",
        form="grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer",
    ),
    Bad("twice", "invalid_request", form="grant_type=client_credentials&grant_type=password"),
    Bad("twice", "invalid_request", form="grant_type=client_credentials&scope=a&scope=b"),
    Bad("the scopes are", "invalid_scope", form="grant_type=client_credentials&scope=everything"),
    Bad(
        "the scopes are",
        "invalid_scope",
        form="grant_type=client_credentials&scope=delta-sharing+everything",
    ),
    Bad("must be of type", "invalid_request", content_type="application/json", form="{}"),
    Bad("must be of type", "invalid_request", content_type=""),
    Bad("not a form", "invalid_request", form="grant_type=client_credentials&a=%FF"),
    Bad("not a form", "invalid_request", form="&".join(f"p{number}=1" for number in range(40))),
    Bad("not in both", "invalid_request", form=IN_BODY),
    Bad("not in both", "invalid_request", form="grant_type=client_credentials&client_id=another"),
    *(
        Bad(says, "invalid_client", authorization=authorization, status=401)
        for says, authorization in (
            ("client_id and client_secret are missing", None),
            ("of the scheme Basic", "Bearer abc"),
            ("malformed", "Basic"),
            ("malformed", "Basic !!!"),
            ("malformed", "Basic " + b64encode(b"no colon").decode()),
            ("malformed", "Basic " + b64encode(b"\xff:\xff").decode()),
            (WRONG, basic("", "")),
            (WRONG, basic("acme", "guess")),
            (WRONG, basic("00000000-0000-0000-0000-000000000000", "guess")),
            (WRONG, basic("x" * 5000, "guess")),
        )
    ),
    Bad(WRONG, "invalid_client", authorization="{wrong_secret}", status=401),
    Bad(WRONG, "invalid_client", authorization="{wrong_case}", status=401),
    *(
        Bad("are missing", "invalid_client", form, authorization=None, status=401)
        for form in (
            "grant_type=client_credentials&client_id={id}",
            "grant_type=client_credentials&client_secret={secret}",
            "grant_type=client_credentials&client_id={id}&client_secret=",
        )
    ),
    Bad(WRONG, "invalid_client", IN_BODY.replace("{secret}", "{id}"), authorization=None, status=401),
]


@pytest.mark.parametrize("case", BAD, ids=str)
async def test_bad_requests_are_refused_as_rfc_6749_says(
    oauth: RunningEndpoint, case: Bad, caplog: pytest.LogCaptureFixture
) -> None:
    client_id, secret = str(oauth.client.client_id), oauth.client.secret
    words = {
        "id": client_id,
        "secret": secret,
        "basic": basic(client_id, secret),
        "wrong_secret": basic(client_id, secret[:-1]),
        "wrong_case": basic(client_id.upper(), secret),
    }
    headers = {"content-type": case.content_type}
    if case.authorization is not None:
        headers["authorization"] = case.authorization.format_map(words)
    form = case.form if case.form == "{}" else case.form.format_map(words)
    with caplog.at_level(logging.DEBUG, "sluicegate"):
        answer = await oauth.http.post("/oauth/token", content=form, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (case.status, case.error)
    assert case.says in answer.json()["error_description"]
    assert answer.headers["cache-control"] == "private, no-store"
    challenge = 'Basic realm="sluicegate"' if case.status == 401 else None
    assert answer.headers.get("www-authenticate") == challenge
    assert oauth.waits.waiting == (case.status == 401)
    assert secret[:-1] not in caplog.text
    assert "guess" not in caplog.text


HEADERS = st.none() | st.text() | st.builds("Basic {}".format, st.text("abcXYZ019+/=", max_size=40))
NAMES = st.sampled_from(["grant_type", "client_id", "client_secret", "scope"]) | st.text(max_size=9)
BODIES = st.binary(max_size=200) | st.dictionaries(NAMES, st.text(max_size=30), max_size=5).map(
    lambda form: urlencode(form).encode()
)


@given(st.sampled_from([FORM, f"{FORM}; charset=utf-8"]) | st.text(max_size=40), HEADERS, BODIES)
def test_garbage_is_refused_and_nothing_else_happens(
    content_type: str, authorization: str | None, body: bytes
) -> None:
    try:
        TokenRequest.parse(content_type, authorization, body)
    except OAuthError as error:
        assert error.code.isidentifier()  # noqa: PT017  (what is well-formed by chance may pass)
        assert re.fullmatch(r"[\x20-\x7e]+", error.description)  # noqa: PT017
        assert not set('"\\') & set(error.description)  # noqa: PT017


async def test_the_log_names_the_client_and_never_what_only_looks_like_one(
    oauth: RunningEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    await oauth.ask(GRANT, oauth.client.client_id, "wrong")
    await oauth.ask(GRANT, oauth.client.secret, "fields mixed up")
    assert [record.getMessage() for record in caplog.records] == [
        f"OAuth client {oauth.client.client_id} was refused",
        "OAuth client with an id of unknown format was refused",
    ]


async def test_a_long_body_is_not_read(oauth: RunningEndpoint) -> None:
    refused = await oauth.ask("a=" + "x" * 20_000)
    assert (refused.status_code, refused.json()["errorCode"]) == (413, "REQUEST_TOO_LARGE")


async def test_a_bearer_token_is_no_client_and_a_client_secret_no_bearer_token(
    oauth: RunningEndpoint, recipients: Recipients
) -> None:
    bearer = await recipients.rotate("acme", grace=100)
    answer = await oauth.ask(GRANT, oauth.client.client_id, bearer.secret)
    assert answer.json()["error"] == "invalid_client"


async def test_an_expired_client_gets_that_reason(oauth: RunningEndpoint, clock: Clock) -> None:
    clock.advance(100 * SECOND)
    refused = await oauth.ask_well()
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert refused.json()["error_description"].startswith("the OAuth client has expired")


async def test_a_revoked_client_gets_that_reason(
    oauth: RunningEndpoint, recipients: Recipients
) -> None:
    await recipients.revoke("acme")
    refused = await oauth.ask_well()
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert refused.json()["error_description"].startswith("the OAuth client was revoked")


async def test_both_clients_work_during_the_grace_after_a_rotation(
    oauth: RunningEndpoint, recipients: Recipients, clock: Clock
) -> None:
    new = await recipients.rotate("acme", kind="oauth")
    assert (await oauth.ask_well()).status_code == 200
    assert await granted(oauth, await oauth.ask(GRANT, new.client_id, new.secret)) == "acme"
    clock.advance(10 * SECOND)
    assert (await oauth.ask_well()).status_code == 401
    assert (await oauth.ask(GRANT, new.client_id, new.secret)).status_code == 200


async def test_a_token_never_outlives_its_client(oauth: RunningEndpoint, clock: Clock) -> None:
    clock.advance(70 * SECOND)
    assert (await oauth.ask_well()).json()["expires_in"] == 30


async def test_a_client_from_a_foreign_address_gets_no_token(
    oauth: RunningEndpoint, recipients: Recipients
) -> None:
    fenced = await recipients.rotate("fenced", kind="oauth")
    refused = await oauth.ask(GRANT, fenced.client_id, fenced.secret)
    assert (refused.status_code, refused.json()["error"]) == (400, "unauthorized_client")


async def test_a_flood_of_guesses_waits_or_is_turned_away_and_delays_nobody_else(
    oauth: RunningEndpoint,
) -> None:
    oauth.waits.gate.clear()
    guesses = [asyncio.create_task(oauth.ask(GRANT, "guess", "guess")) for _ in range(5)]
    first = asyncio.as_completed(guesses)
    turned_away = [await next(first) for _ in range(3)]
    assert [answer.status_code for answer in turned_away] == [429, 429, 429]
    assert all(int(answer.headers["retry-after"]) > 0 for answer in turned_away)
    assert oauth.waits.waiting == 2
    assert (await oauth.ask_well()).status_code == 200
    oauth.waits.gate.set()
    assert [(await answer).status_code for answer in first] == [401, 401]


@pytest.mark.parametrize("authorization", [None, "Bearer expired"])
def test_token_exchange_is_refused_with_what_to_do(authorization: str | None) -> None:
    """Clients of Iceberg catalogs try it to renew a token, without the credentials of a client."""
    form = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "old"}
    with pytest.raises(OAuthError, match="set token-exchange-enabled to false") as refused:
        TokenRequest.parse(FORM, authorization, urlencode(form).encode())
    assert (refused.value.code, refused.value.status) == ("unsupported_grant_type", 400)
