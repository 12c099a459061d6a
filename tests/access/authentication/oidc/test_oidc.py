"""Tokens of OIDC issuers: whom they prove, and everything that makes one worthless."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import jwt
import pytest
from access.conftest import Apply
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import HMACAlgorithm
from support.servers.issuer import AUDIENCE, Issuer, private_key, public_jwk, running_issuer
from support.servers.migrated import new_sqlite

from sluicegate.access.authentication.assembly import Access
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.config import AuthenticationSettings, OidcSettings, Settings
from sluicegate.database import Store
from sluicegate.signing.keyring import KeyRing
from sluicegate_testing.fakes import authentication_request as asking

DECLARED = """
recipients:
  acme: {properties: {country: DE}}
  beta: {}
  fenced: {allow_from: [203.0.113.0/24]}
"""
Open = Callable[..., Authentication]


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough here."""
    return new_sqlite(tmp_path / "sluicegate.db")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


@pytest.fixture
async def gateway(issuer: Issuer, store: Store, apply: Apply) -> AsyncIterator[Open]:
    """A gateway's ways in, with the issuer's section as a test wants it."""
    await apply(DECLARED)
    async with AsyncExitStack() as stack:

        def access(**section: Any) -> Authentication:
            oidc = OidcSettings(**{"issuer": issuer.address, "audience": AUDIENCE, **section})
            settings = Settings(authentication=AuthenticationSettings(oidc=(oidc,)))
            opened = Access(settings, KeyRing((b"k" * 32,)), Grants(store, max_age=0))
            stack.push_async_callback(opened.aclose)
            return opened.authentication

        yield access


async def ask(authentication: Authentication, token: str) -> Principal:
    return await authentication.authenticate(asking(f"Bearer {token}", "192.0.2.1"))


async def test_a_token_proves_the_recipient_that_its_subject_names(
    gateway: Open, issuer: Issuer
) -> None:
    principal = await ask(gateway(), issuer.token())
    assert principal == Principal(principal.id, "acme", "oidc", "192.0.2.1", {"country": "DE"})


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "RS512", "ES256", "ES384", "EdDSA"])
async def test_every_kind_of_key_is_known(gateway: Open, issuer: Issuer, algorithm: str) -> None:
    issuer.add_key("another", algorithm)
    assert (await ask(gateway(algorithms=[algorithm]), issuer.token("another"))).name == "acme"


@pytest.mark.parametrize(
    ("section", "claims"),
    [
        ({}, {"aud": [AUDIENCE, "another"]}),
        ({"audience": ["another", AUDIENCE]}, {}),
        ({"claim": "azp"}, {"sub": "nobody", "azp": "acme"}),
        ({"claim": "https://acme.example/tenant"}, {"https://acme.example/tenant": "acme"}),
        ({"recipients": {"client-7": "acme"}}, {"sub": "client-7"}),
        ({"recipients": {"client-7": "ACME"}}, {"sub": "client-7"}),
        ({"leeway": "30s"}, {"exp": "just now"}),
        ({"leeway": "30s"}, {"nbf": "soon"}),
    ],
    ids=str,
)
async def test_sections_say_what_a_token_must_be_like(
    gateway: Open, issuer: Issuer, section: dict[str, Any], claims: dict[str, Any]
) -> None:
    now = issuer.claims()["iat"]
    times = {"just now": now - 10, "soon": now + 10}
    claims = {name: times.get(str(value), value) for name, value in claims.items()}
    assert (await ask(gateway(**section), issuer.token(**claims))).name == "acme"


@pytest.mark.parametrize(
    ("section", "claims", "reason"),
    [
        ({}, {"aud": "another"}, "for another audience"),
        ({}, {"aud": None}, "a claim is missing"),
        ({}, {"aud": [AUDIENCE.upper()]}, "for another audience"),
        ({}, {"exp": 1}, "has expired"),
        ({}, {"exp": None}, "a claim is missing"),
        ({}, {"exp": "never"}, "exp is not a time"),
        ({}, {"nbf": 99_999_999_999}, "not yet valid"),
        ({}, {"sub": None}, "a claim is missing"),
        ({}, {"sub": 7}, "malformed"),
        ({"claim": "azp"}, {}, "a claim is missing"),
        ({"claim": "azp"}, {"azp": ["acme"]}, "belongs to no recipient"),
        ({"claim": "azp"}, {"azp": {"acme": "acme"}}, "belongs to no recipient"),
        ({}, {"sub": "ACME"}, "belongs to no recipient"),
        ({}, {"sub": "unknown"}, "belongs to no recipient"),
        ({}, {"sub": ""}, "belongs to no recipient"),
        ({}, {"sub": "acme\x00"}, "belongs to no recipient"),
        ({}, {"sub": "\ud800"}, "malformed"),
        ({}, {"sub": "a" * 300}, "belongs to no recipient"),
        ({"recipients": {"client-7": "acme"}}, {"sub": "acme"}, "belongs to no recipient"),
        ({"recipients": {"client-7": "gone"}}, {"sub": "client-7"}, "belongs to no recipient"),
    ],
    ids=str,
)
async def test_well_signed_tokens_with_wrong_claims_are_refused(
    gateway: Open, issuer: Issuer, section: dict[str, Any], claims: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Unauthenticated, match=reason):
        await ask(gateway(**section), issuer.token(**claims))


async def test_another_issuers_token_is_refused_without_asking_anybody(
    gateway: Open, issuer: Issuer
) -> None:
    for iss in (f"{issuer.address}/", issuer.address.upper(), "https://elsewhere.example", ""):
        with pytest.raises(Unauthenticated, match="malformed"):
            await ask(gateway(), issuer.token(iss=iss))
    assert not issuer.asked


def pem(issuer: Issuer) -> bytes:
    public = issuer.keys["first"][1].public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def hmac_signed(secret: bytes, issuer: Issuer, algorithm: str, **header: Any) -> str:
    """What PyJWT refuses to make: a public key used as the secret of an HMAC."""
    parts = ({"alg": algorithm, "kid": "first", "typ": "JWT", **header}, issuer.claims())
    text = ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    digest = HMACAlgorithm(HMACAlgorithm.SHA256).sign(text.encode(), secret)
    return f"{text}.{urlsafe_b64encode(digest).decode().rstrip('=')}"


def attackers(issuer: Issuer, **header: Any) -> str:
    """Signed by a key of an attacker's, who claims that it is the issuer's."""
    headers = {"kid": "first", **header}
    return jwt.encode(issuer.claims(), private_key("RS256", 9), "RS256", headers=headers)


def modulus(issuer: Issuer) -> bytes:
    n: str = public_jwk("RS256", issuer.keys["first"][1])["n"]
    return urlsafe_b64decode(n + "=" * (-len(n) % 4))


def other_algorithm(issuer: Issuer, algorithm: str) -> str:
    key = issuer.keys["first"][1]
    return jwt.encode(issuer.claims(), key, algorithm, headers={"kid": "first"})


CONFUSIONS: dict[str, Callable[[Issuer], str]] = {
    "none": lambda issuer: jwt.encode(issuer.claims(), "", "none", headers={"kid": "first"}),
    "None": lambda issuer: hmac_signed(b"", issuer, "None"),
    "no algorithm at all": lambda issuer: hmac_signed(b"", issuer, ""),
    "an algorithm that is a list": lambda issuer: hmac_signed(b"", issuer, "", alg=["RS256"]),
    "HS256 by the public key in PEM": lambda issuer: hmac_signed(pem(issuer), issuer, "HS256"),
    "HS256 by that without its last line end": lambda issuer: hmac_signed(
        pem(issuer).strip(), issuer, "HS256"
    ),
    "HS256 by the modulus": lambda issuer: hmac_signed(modulus(issuer), issuer, "HS256"),
    "an HMAC that calls itself RS256": lambda issuer: hmac_signed(pem(issuer), issuer, "RS256"),
    "another key of the same id": attackers,
    "a key in the header": lambda issuer: attackers(
        issuer, jwk=public_jwk("RS256", private_key("RS256", 9), kid="first")
    ),
    "an address of keys in the header": lambda issuer: attackers(
        issuer, jku=f"{issuer.address}/attacker", x5u=f"{issuer.address}/attacker"
    ),
    "a certificate in the header": lambda issuer: attackers(issuer, x5c=["MIIB"]),
    "an algorithm that is not configured": lambda issuer: other_algorithm(issuer, "RS512"),
    "a padding that is not configured": lambda issuer: other_algorithm(issuer, "PS256"),
    "another kind of key": lambda issuer: jwt.encode(
        issuer.claims(), private_key("ES256"), "ES256", headers={"kid": "first"}
    ),
    "a key of the gateway's own": lambda issuer: attackers(issuer, kid="slg-AAAA"),
    "a critical extension": lambda issuer: jwt.encode(
        issuer.claims(),
        issuer.keys["first"][1],
        "RS256",
        headers={"kid": "first", "crit": ["own"], "own": 1},
    ),
    "no signature": lambda issuer: issuer.token().rpartition(".")[0] + ".",
    "a changed claim": lambda issuer: _swapped(issuer.token(), issuer.token(sub="beta")),
}


def _swapped(one: str, other: str) -> str:
    header, _, signature = one.split(".")
    return f"{header}.{other.split('.')[1]}.{signature}"


@pytest.mark.parametrize("forge", CONFUSIONS.values(), ids=CONFUSIONS)
async def test_no_confusion_of_algorithms_and_keys_gets_in(
    gateway: Open, issuer: Issuer, forge: Callable[[Issuer], str]
) -> None:
    authentication = gateway(algorithms=["RS256", "ES256"])
    with pytest.raises(Unauthenticated):
        await ask(authentication, forge(issuer))
    assert (await ask(authentication, issuer.token())).name == "acme"
    assert f"{issuer.address}/attacker" not in issuer.asked


async def test_revoking_a_recipient_refuses_its_tokens_until_it_is_restored(
    gateway: Open, issuer: Issuer, recipients: Recipients
) -> None:
    authentication, token = gateway(), issuer.token()
    assert (await ask(authentication, token)).name == "acme"
    await recipients.revoke("acme")
    for presented in (token, issuer.token(jti="new")):
        with pytest.raises(Unauthenticated, match="the recipient was revoked"):
            await ask(authentication, presented)
    assert (await ask(authentication, issuer.token(sub="beta"))).name == "beta"
    await recipients.restore("acme")
    assert (await ask(authentication, token)).name == "acme"


async def test_a_removed_recipient_is_refused(gateway: Open, issuer: Issuer, apply: Apply) -> None:
    authentication, token = gateway(), issuer.token()
    assert (await ask(authentication, token)).name == "acme"
    await apply("shares: {}", prune=True)
    with pytest.raises(Unauthenticated, match="belongs to no recipient"):
        await ask(authentication, token)


async def test_recipients_call_only_from_their_networks(gateway: Open, issuer: Issuer) -> None:
    with pytest.raises(PermissionDenied, match="'fenced' may not call from this address"):
        await ask(gateway(), issuer.token(sub="fenced"))
