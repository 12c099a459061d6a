"""What is sent as a bearer token: who verifies it, how often, and that garbage is only ever refused."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from support.process.random_cases import cases

from sluicegate.access.authentication.assembly import Access
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.jwt import (
    TokenVerifier,
    Verified,
    VerifiedTokens,
    WebToken,
    WebTokens,
)
from sluicegate.access.authentication.oauth.own_tokens import PeriodicKeys
from sluicegate.access.grants import Grants
from sluicegate.api import AuthenticationRequest, Authenticator, Principal
from sluicegate.api.errors import NotAuthenticated, Unauthenticated
from sluicegate.config import AuthenticationSettings, OidcSettings, Settings
from sluicegate.database import Store
from sluicegate.database.reads import RecipientRecord
from sluicegate.signing.keyring import KeyRing
from sluicegate_testing.fakes import authentication_request as asking

ACME = RecipientRecord("1", "acme", {}, (), None)
KEYS = KeyRing((b"k" * 32,))


def token(header: Any, claims: Any, signature: str = "AAAA") -> str:
    return ".".join((encoded(json.dumps(header)), encoded(json.dumps(claims)), signature))


def encoded(text: str) -> str:
    return urlsafe_b64encode(text.encode(errors="surrogatepass")).decode().rstrip("=")


class FakeVerifier(TokenVerifier):
    """Says yes to one issuer's tokens, and counts how often it was asked."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.asked = 0

    @property
    def method(self) -> str:
        return self.issuer

    async def verify(self, token: WebToken) -> Verified | None:
        if token.claims.get("iss") != self.issuer:
            return None
        self.asked += 1
        return Verified(self, "acme", float(token.claims["exp"]))

    async def recipient(self, verified: Verified) -> RecipientRecord:
        return ACME


class Plugin(Authenticator):
    """Knows a scheme of its own, and takes what no verifier recognizes."""

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        if request.authorization.startswith("Own bad"):
            raise Unauthenticated("mine, and bad")
        return Principal("2", "plugged", "own") if "mine" in request.authorization else None


def chain(*verifiers: TokenVerifier, verified: VerifiedTokens | None = None) -> Authentication:
    async def all_verifiers() -> tuple[TokenVerifier, ...]:
        return verifiers

    web = WebTokens(all_verifiers, verified or VerifiedTokens(), clock=lambda: 1000)
    return Authentication([web, Plugin()])


async def test_the_verifier_of_the_issuer_decides() -> None:
    authentication = chain(FakeVerifier("one"), FakeVerifier("other"))
    for issuer in ("one", "other"):
        sent = token({}, {"iss": issuer, "exp": 2000})
        assert (await authentication.authenticate(asking(f"Bearer {sent}"))).method == issuer


async def test_a_plugin_decides_when_no_verifier_recognizes_a_token() -> None:
    authentication = chain(FakeVerifier("one"))
    for sent in ("Own mine", f"Bearer {token({'mine': 1}, {'iss': 'mine'})}.mine", "Bearer mine"):
        assert (await authentication.authenticate(asking(sent))).name == "plugged"
    with pytest.raises(Unauthenticated, match="mine, and bad"):
        await authentication.authenticate(asking("Own bad"))


async def test_a_token_is_verified_once_and_its_end_is_kept() -> None:
    verifier, verified = FakeVerifier("one"), VerifiedTokens()
    authentication = chain(verifier, verified=verified)
    good, expired = (f"Bearer {token({}, {'iss': 'one', 'exp': exp})}" for exp in (2000, 1000))
    for _ in range(3):
        await authentication.authenticate(asking(good))
        with pytest.raises(Unauthenticated, match="has expired"):
            await authentication.authenticate(asking(expired))
    assert verifier.asked == 2
    verified.forget()
    await authentication.authenticate(asking(good))
    assert verifier.asked == 3


async def test_a_token_that_is_valid_for_more_than_a_year_is_refused() -> None:
    authentication, year = chain(FakeVerifier("one")), 1000 + 365 * 86_400
    await authentication.authenticate(asking(f"Bearer {token({}, {'iss': 'one', 'exp': year})}", None))
    for end in (year + 1, 10**30):
        with pytest.raises(Unauthenticated, match="for more than a year"):
            await authentication.authenticate(
                asking(f"Bearer {token({}, {'iss': 'one', 'exp': end})}", None)
            )


@pytest.mark.parametrize(("length", "is_read"), [(16_384, True), (16_385, False)])
async def test_a_token_has_16_kibibytes_at_the_most(length: int, is_read: bool) -> None:
    verifier = FakeVerifier("one")
    start = token({}, {"iss": "one", "exp": 2000}, "")
    sent = chain(verifier).authenticate(asking(f"Bearer {start.ljust(length, 'A')}"))
    if is_read:
        assert (await sent).name == "acme"
    else:
        with pytest.raises(Unauthenticated):
            await sent
    assert verifier.asked == is_read


@asynccontextmanager
async def real_chain() -> AsyncIterator[Authentication]:
    """The chain of a gateway with an issuer that is never reached."""
    oidc = OidcSettings(issuer="https://issuer.invalid", audience="sluicegate")
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder)}/sluicegate.db"
        settings = Settings(
            database=SecretStr(url), authentication=AuthenticationSettings(oidc=(oidc,))
        )
        store = await Store.open(url)
        access = Access(settings, KEYS, Grants(store))
        yield access.authentication
        await access.aclose()
        await store.aclose()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OWN_KEY = PeriodicKeys(KEYS).signing(1_800_000_000)[0]
HEADERS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "alg": st.sampled_from(["HS256", "none", "RS256", "ES256", "HS512"]) | JSON,
        "kid": st.sampled_from([OWN_KEY, "slg-", "slg-other"]) | JSON,
        "typ": st.just("at+jwt") | JSON,
        "crit": JSON,
        "b64": JSON,
    },
)
CLAIMS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "iss": st.sampled_from(["sluicegate", "https://issuer.invalid/"]) | JSON,
        "exp": st.floats() | JSON,
        "client_id": JSON,
        "aud": JSON,
    },
)
DEEP = [
    f'{{"alg":"HS256","kid":"{OWN_KEY}","deep":{"[" * depth}{"]" * depth}}}'
    for depth in (100, 500, 990, 1020, 2500)
]
GARBAGE = st.one_of(
    st.text(max_size=200),
    st.text("abcXYZ019-_.=", max_size=200),
    st.builds(token, HEADERS, CLAIMS, st.text("abcXYZ019-_", max_size=60)),
    st.builds(lambda text: f"{encoded(text)}.{encoded(text)}.AA", st.sampled_from(DEEP)),
    st.builds(lambda head, text: f"{encoded(json.dumps(head))}.{encoded(text)}.AA", HEADERS, st.text()),
)


@given(st.lists(GARBAGE, min_size=20, max_size=20))
@settings(max_examples=cases(32), deadline=None)
def test_garbage_is_refused_and_nothing_else_happens(sent: list[str]) -> None:
    async def send() -> None:
        async with real_chain() as authentication:
            for text in sent:
                with pytest.raises(Unauthenticated) as refused:
                    await authentication.authenticate(asking(f"Bearer {text}"))
                missing = isinstance(refused.value, NotAuthenticated)
                assert missing == (not text.strip()), text

    asyncio.run(send())
