"""Access tokens of the gateway's own: how long they live, by which keys, and what is forged."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import jwt
import pytest
from access.conftest import Apply
from support.process.clock import Clock
from support.servers.migrated import new_sqlite

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.jwt import TokenVerifier, VerifiedTokens, WebTokens
from sluicegate.access.authentication.oauth.access_tokens import AccessTokenIssuer
from sluicegate.access.authentication.oauth.own_tokens import PERIOD_SECONDS, PeriodicKeys
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import Unauthenticated
from sluicegate.database import Store
from sluicegate.signing.keyring import KeyRing
from sluicegate_testing.fakes import authentication_request as asking

SECOND = 1000
DAY = PERIOD_SECONDS * SECOND
OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough here."""
    return new_sqlite(tmp_path / "sluicegate.db")


@pytest.fixture
def grants(store: Store) -> Grants:
    return Grants(store, max_age=0)


@pytest.fixture
def recipients(store: Store, clock: Clock) -> Recipients:
    """Clients live for long, so that only access tokens expire."""
    return Recipients(store, token_lifetime=30 * PERIOD_SECONDS, rotation_grace=10, now=clock)


class Replica:
    """One gateway's tokens, and what it says to those that it is sent."""

    def __init__(self, grants: Grants, clock: Clock, *keys: bytes, lifetime: int = 60) -> None:
        def seconds() -> float:
            return clock() / SECOND

        self._grants = grants
        self._tokens = AccessTokenIssuer(KeyRing(keys or (OLD,)), grants, lifetime, clock=seconds)
        web = WebTokens(self._verifiers, VerifiedTokens(), clock=seconds)
        self._authentication = Authentication([web])

    async def _verifiers(self) -> list[TokenVerifier]:
        return [self._tokens]

    async def issue(self, client_id: str | None) -> str:
        """A fresh token."""
        client = await self._grants.client(str(client_id))
        assert client is not None
        token = self._tokens.issue(client, "delta-sharing")
        assert token.text not in repr(token)
        return token.text

    async def refusal(self, token: str) -> str | None:
        """Why a token is refused; `None` if it is accepted."""
        try:
            principal = await self._authentication.authenticate(asking(f"Bearer {token}", None))
        except Unauthenticated as error:
            return error.message
        assert principal.name == "acme"
        return None


@pytest.fixture
def gateway(grants: Grants, clock: Clock) -> Replica:
    return Replica(grants, clock)


async def new_client(recipients: Recipients) -> str:
    return str((await recipients.create("acme", kind="oauth")).client_id)


async def test_a_token_has_the_requested_lifetime(
    gateway: Replica, recipients: Recipients, clock: Clock
) -> None:
    token = await gateway.issue(await new_client(recipients))
    clock.advance(60 * SECOND - 1)
    assert await gateway.refusal(token) is None
    clock.advance(1)
    assert "has expired" in str(await gateway.refusal(token))
    assert "has expired" in str(await Replica(gateway._grants, clock).refusal(token))


async def test_every_replica_with_the_key_accepts_a_token_and_no_other(
    gateway: Replica, grants: Grants, recipients: Recipients, clock: Clock
) -> None:
    token = await gateway.issue(await new_client(recipients))
    assert await Replica(grants, clock, OLD).refusal(token) is None
    assert "no longer used" in str(await Replica(grants, clock, NEW).refusal(token))


async def test_a_token_ends_when_its_client_does(
    gateway: Replica, recipients: Recipients, clock: Clock
) -> None:
    token = await gateway.issue(await new_client(recipients))
    await recipients.rotate("acme", kind="oauth")
    assert await gateway.refusal(token) is None
    clock.advance(10 * SECOND)
    assert "the OAuth client has expired" in str(await gateway.refusal(token))


async def test_a_revoked_recipients_token_is_refused_and_stays_refused(
    gateway: Replica, recipients: Recipients
) -> None:
    token = await gateway.issue(await new_client(recipients))
    assert await gateway.refusal(token) is None
    await recipients.revoke("acme")
    assert "was revoked" in str(await gateway.refusal(token))
    new = await recipients.rotate("acme", kind="oauth")
    assert "was revoked" in str(await gateway.refusal(token))
    assert await gateway.refusal(await gateway.issue(new.client_id)) is None


async def test_a_removed_recipients_token_is_refused(
    gateway: Replica, recipients: Recipients, apply: Apply
) -> None:
    token = await gateway.issue(await new_client(recipients))
    await apply("shares: {}", prune=True)
    assert "no longer exists" in str(await gateway.refusal(token))


async def test_a_token_outlives_the_change_of_its_key_from_day_to_day(
    grants: Grants, recipients: Recipients, clock: Clock
) -> None:
    clock.now = 20_000 * DAY - 1
    gateway = Replica(grants, clock, lifetime=PERIOD_SECONDS)
    token = await gateway.issue(await new_client(recipients))
    clock.advance(DAY - SECOND)
    assert await Replica(grants, clock).refusal(token) is None
    later = await gateway.issue(str((await recipients.rotate("acme", kind="oauth")).client_id))
    assert key_id(later) != key_id(token)


async def test_a_key_is_forgotten_when_no_token_of_it_can_be_alive(
    grants: Grants, recipients: Recipients, clock: Clock
) -> None:
    token = await Replica(grants, clock).issue(await new_client(recipients))
    clock.advance(2 * DAY)
    assert "no longer used" in str(await Replica(grants, clock).refusal(token))


async def test_a_replica_whose_clock_is_behind_accepts_the_next_days_key(
    grants: Grants, recipients: Recipients, clock: Clock
) -> None:
    clock.now = 20_000 * DAY
    token = await Replica(grants, clock).issue(await new_client(recipients))
    clock.advance(-SECOND)
    assert await Replica(grants, clock).refusal(token) is None


async def test_tokens_outlive_the_change_of_the_gateways_key(
    grants: Grants, recipients: Recipients, clock: Clock
) -> None:
    client = await new_client(recipients)
    before, between, after = ((OLD, NEW), (NEW, OLD), (NEW,))
    tokens = [await Replica(grants, clock, *keys).issue(client) for keys in (before, between)]
    for keys in (before, between):
        assert [await Replica(grants, clock, *keys).refusal(token) for token in tokens] == [None, None]
    assert [await Replica(grants, clock, *after).refusal(token) is None for token in tokens] == [
        False,
        True,
    ]


def key_id(token: str) -> str:
    found: str = jwt.get_unverified_header(token)["kid"]
    return found


def encoded(part: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


FORGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no algorithm": ({"alg": "none"}, {}),
    "no algorithm, in capitals": ({"alg": "NONE"}, {}),
    "an algorithm of key pairs": ({"alg": "RS256"}, {}),
    "no signature of ours": ({}, {}),
    "another client": ({}, {"client_id": "00000000-0000-0000-0000-000000000000"}),
    "a later end": ({}, {"exp": 99_999_999_999}),
    "an unknown key": ({"kid": "slg-unknown"}, {}),
    "an unknown critical extension": ({"crit": ["own"], "own": 1}, {}),
    "a key of its own": ({"jwk": {"kty": "oct", "k": "AAAA"}}, {}),
}


@pytest.mark.parametrize(("header", "claims"), FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("signature", ["", "AAAA", "A" * 43])
async def test_forged_tokens_are_refused(
    gateway: Replica,
    recipients: Recipients,
    header: dict[str, Any],
    claims: dict[str, Any],
    signature: str,
) -> None:
    token = await gateway.issue(await new_client(recipients))
    head = jwt.get_unverified_header(token) | header
    body = jwt.decode(token, options={"verify_signature": False}) | claims
    refusal = await gateway.refusal(f"{encoded(head)}.{encoded(body)}.{signature}")
    assert re.match("the access token is (not valid|signed with a key)", str(refusal))


async def test_tokens_are_jwts_in_the_profile_for_access_tokens(
    gateway: Replica, recipients: Recipients, clock: Clock
) -> None:
    client = await new_client(recipients)
    token = await gateway.issue(client)
    name, key = PeriodicKeys(KeyRing((OLD,))).signing(clock() / SECOND)
    claims = jwt.decode(token, key, ["HS256"], options={"verify_exp": False, "verify_iat": False})
    assert claims["client_id"] == client
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "at+jwt", "kid": name}


@pytest.mark.filterwarnings("ignore:The HMAC key is 32 bytes long")
@pytest.mark.parametrize(
    ("algorithm", "header", "reason"),
    [
        ("HS512", {}, "not signed by an accepted algorithm"),
        ("HS256", {"crit": ["own"], "own": 1}, "malformed"),
    ],
)
async def test_well_signed_tokens_with_another_header_are_refused(
    gateway: Replica,
    recipients: Recipients,
    clock: Clock,
    algorithm: str,
    header: dict[str, Any],
    reason: str,
) -> None:
    token = await gateway.issue(await new_client(recipients))
    claims = jwt.decode(token, options={"verify_signature": False})
    name, key = PeriodicKeys(KeyRing((OLD,))).signing(clock() / SECOND)
    signed = jwt.encode(claims, key, algorithm, headers={"kid": name, **header})
    assert reason in str(await gateway.refusal(signed))


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "another"}, "from another issuer"),
        ({"iss": None}, "a claim is missing"),
        ({"exp": None}, "a claim is missing"),
        ({"client_id": None}, "a claim is missing"),
        ({"exp": "tomorrow"}, "exp is not a time"),
        ({"exp": True}, "exp is not a time"),
        ({"exp": [1]}, "exp is not a time"),
        ({"nbf": 99_999_999_999}, "not yet valid"),
        ({"nbf": "tomorrow"}, "nbf is not a time"),
        ({"sub": 5}, "malformed"),
    ],
    ids=str,
)
async def test_well_signed_tokens_with_wrong_claims_are_refused(
    gateway: Replica, recipients: Recipients, clock: Clock, claims: dict[str, Any], reason: str
) -> None:
    token = await gateway.issue(await new_client(recipients))
    good = jwt.decode(token, options={"verify_signature": False})
    changed = {name: value for name, value in (good | claims).items() if value is not None}
    name, key = PeriodicKeys(KeyRing((OLD,))).signing(clock() / SECOND)
    signed = jwt.encode(changed, key, "HS256", headers={"kid": name})
    assert reason in str(await gateway.refusal(signed))
