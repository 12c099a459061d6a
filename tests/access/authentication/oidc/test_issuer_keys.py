"""The keys of an issuer: found, cached, renewed, and done without while it is down."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from jwt.algorithms import RSAAlgorithm
from support.process.clock import Clock
from support.servers.issuer import (
    AUDIENCE,
    DISCOVERY,
    JWKS,
    Issuer,
    private_key,
    public_jwk,
    running_issuer,
)

from sluicegate.access.authentication.oidc.fetch import FetchFailed, JsonFetcher
from sluicegate.access.authentication.oidc.keys import KeyFetcher, KeySet, KeySource
from sluicegate.api.errors import Unavailable
from sluicegate.config import OidcSettings
from sluicegate_testing.servers._certificate import make_certificate

MAX_AGE, MAX_STALE, BETWEEN_ATTEMPTS = 600, 3600, 10


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


@dataclass
class Watched:
    """A source, its clock in seconds, and how often its keys have changed."""

    source: KeySource
    clock: Clock
    changes: list[None] = field(default_factory=list)

    async def has(self, key_id: str) -> bool:
        """Whether a key is found."""
        return await self.source.find(key_id, "RS256") is not None

    async def settle(self) -> None:
        """Let a renewal in the background come to its end."""
        while self.source._renewing is not None:
            await asyncio.wait([self.source._renewing])


@pytest.fixture
async def watched(issuer: Issuer) -> AsyncIterator[Watched]:
    clock, changes = Clock(0), list[None]()
    fetcher = KeyFetcher(OidcSettings(issuer=issuer.address, audience=AUDIENCE))
    source = KeySource(
        fetcher,
        lambda: changes.append(None),
        max_age=MAX_AGE,
        max_stale=MAX_STALE,
        clock=clock,
    )
    yield Watched(source, clock, changes)
    await source.aclose()


async def test_keys_are_discovered_once_and_served_from_memory(
    issuer: Issuer, watched: Watched
) -> None:
    assert all(await asyncio.gather(*(watched.has("first") for _ in range(20))))
    watched.clock.advance(MAX_AGE - 1)
    assert await watched.has("first")
    assert issuer.asked == {DISCOVERY: 1, JWKS: 1}


async def test_a_configured_address_needs_no_discovery(issuer: Issuer) -> None:
    section = OidcSettings(issuer=issuer.address, audience=AUDIENCE, jwks_uri=issuer.address + JWKS)
    fetcher = KeyFetcher(section)
    assert len(await fetcher.fetch()) == 1
    assert issuer.asked == {JWKS: 1}
    await fetcher.aclose()


async def test_old_keys_are_renewed_in_the_background(issuer: Issuer, watched: Watched) -> None:
    assert await watched.has("first")
    watched.clock.advance(MAX_AGE)
    assert await watched.has("first")
    await watched.settle()
    assert issuer.asked[JWKS] == 2
    assert len(watched.changes) == 1, "the same keys are no change"


async def test_a_new_key_is_found_at_once_and_a_removed_one_forgotten(
    issuer: Issuer, watched: Watched
) -> None:
    assert await watched.has("first")
    watched.clock.advance(BETWEEN_ATTEMPTS)
    issuer.add_key("second", number=1)
    del issuer.keys["first"]
    assert await watched.has("second")
    assert len(watched.changes) == 2
    assert not await watched.has("first")


async def test_a_flood_of_unknown_keys_sends_the_issuer_few_requests(
    issuer: Issuer, watched: Watched
) -> None:
    for _ in range(3):
        names = [f"made-up-{number}" for number in range(200)]
        assert not any(await asyncio.gather(*(watched.has(name) for name in names)))
        watched.clock.advance(BETWEEN_ATTEMPTS)
    assert issuer.asked[JWKS] <= 3
    assert await watched.has("first")


async def test_without_keys_a_down_issuer_is_unavailable_and_gets_few_requests(
    issuer: Issuer, watched: Watched
) -> None:
    issuer.fail(JWKS)
    for _ in range(5):
        with pytest.raises(Unavailable, match="the issuer of the access token does not respond"):
            await watched.has("first")
    assert issuer.asked[JWKS] == 1
    issuer.answers.clear()
    watched.clock.advance(BETWEEN_ATTEMPTS)
    assert await watched.has("first")


async def test_known_keys_outlive_their_issuer_for_a_while(issuer: Issuer, watched: Watched) -> None:
    assert await watched.has("first")
    issuer.fail(DISCOVERY)
    watched.clock.advance(MAX_STALE - 1)
    assert await watched.has("first")
    await watched.settle()
    with pytest.raises(Unavailable):
        await watched.has("unknown")
    watched.clock.advance(1)
    with pytest.raises(Unavailable):
        await watched.has("first")
    watched.clock.advance(BETWEEN_ATTEMPTS)
    issuer.answers.clear()
    assert await watched.has("first")


class EndlessFetcher(KeyFetcher):
    """Of an issuer that does not respond."""

    def __init__(self) -> None:
        super().__init__(OidcSettings(issuer="http://127.0.0.1:1", audience=AUDIENCE))
        self.begun = asyncio.Event()
        self.events: list[str] = []

    async def fetch(self) -> KeySet:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # a connection takes a turn to close
            self.events.append("the fetch has ended")
        raise AssertionError

    async def aclose(self) -> None:
        self.events.append("the fetcher is closed")
        await super().aclose()


async def test_a_renewal_ends_before_its_connections_are_closed() -> None:
    fetcher = EndlessFetcher()
    source = KeySource(fetcher, lambda: None, max_age=MAX_AGE, max_stale=MAX_STALE)
    request = asyncio.create_task(source.ensure_current())
    await fetcher.begun.wait()
    async with asyncio.timeout(30):
        await source.aclose()
    assert fetcher.events == ["the fetch has ended", "the fetcher is closed"]
    with pytest.raises(asyncio.CancelledError):
        await request


REDIRECT = {"Location": "http://127.0.0.1:1/keys"}


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        (DISCOVERY, (500, {}, b""), "status 500"),
        (DISCOVERY, (404, {}, b""), "status 404"),
        (DISCOVERY, (302, REDIRECT, b""), "status 302"),
        (DISCOVERY, (200, {}, b""), "did not return a JSON object"),
        (DISCOVERY, (200, {}, b"<html>"), "did not return a JSON object"),
        (DISCOVERY, (200, {}, b"[]"), "did not return a JSON object"),
        (DISCOVERY, (200, {}, b"{}"), "for another issuer"),
        (DISCOVERY, (200, {}, b'{"issuer": "https://attacker.example"}'), "for another issuer"),
        (JWKS, (302, REDIRECT, b""), "status 302"),
        (JWKS, (200, {}, b"{}"), "not a JWK set"),
        (JWKS, (200, {}, b'{"keys": 5}'), "not a JWK set"),
        (JWKS, (200, {}, b'{"keys": [' + b" " * 1_000_000 + b"]}"), "more than 1000000 bytes"),
    ],
)
async def test_wrong_answers_are_failures_that_say_what_is_wrong(
    issuer: Issuer, path: str, answer: tuple[int, dict[str, str], bytes], reason: str
) -> None:
    issuer.answers[path] = answer
    fetcher = KeyFetcher(OidcSettings(issuer=issuer.address, audience=AUDIENCE))
    with pytest.raises(FetchFailed, match=reason):
        await fetcher.fetch()
    await fetcher.aclose()


@pytest.mark.parametrize(
    "jwks_uri",
    ["file:///etc/keys.json", "ftp://127.0.0.1/keys", "http://issuer.example/keys", "keys", "", "None"],
)
async def test_discovery_leads_to_no_other_scheme(issuer: Issuer, jwks_uri: str) -> None:
    document = f'{{"issuer": "{issuer.address}", "jwks_uri": "{jwks_uri}"}}'
    issuer.fail(DISCOVERY, 200, document.encode())
    fetcher = KeyFetcher(OidcSettings(issuer=issuer.address, audience=AUDIENCE))
    with pytest.raises(FetchFailed, match="unusable jwks_uri"):
        await fetcher.fetch()
    await fetcher.aclose()


# A process of its own: which authorities aiohttp trusts is decided when it is imported.
FETCH = """
import asyncio, sys
from sluicegate.access.authentication.oidc.keys import KeyFetcher
from sluicegate.access.authentication.oidc.fetch import FetchFailed
from sluicegate.config import OidcSettings

async def main():
    fetcher = KeyFetcher(OidcSettings(issuer=sys.argv[1], audience="sluicegate"))
    try:
        print(len(await fetcher.fetch()))
    except FetchFailed as error:
        print(error)
    await fetcher.aclose()

asyncio.run(main())
"""
NOT_HTTPS = f"{{issuer}}{DISCOVERY} names a jwks_uri that is not https://"


@pytest.mark.parametrize(
    ("keys_of", "said"), [("https issuer", "1"), ("http issuer", NOT_HTTPS)], ids=["https", "http"]
)
async def test_an_https_issuer_has_its_keys_at_an_https_address(
    issuer: Issuer, tmp_path: Path, keys_of: str, said: str
) -> None:
    files = make_certificate(tmp_path)
    with running_issuer(files) as secure:
        named = {"https issuer": secure, "http issuer": issuer}[keys_of].address + JWKS
        document = {"issuer": secure.address, "jwks_uri": named}
        secure.fail(DISCOVERY, 200, json.dumps(document).encode())
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", FETCH, secure.address),
            env={**os.environ, "SSL_CERT_FILE": str(files.authority)},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
    assert output.decode().strip() == said.format(issuer=secure.address)
    assert not issuer.asked


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    fetcher = JsonFetcher(timeout=0.2)
    with pytest.raises(FetchFailed, match="no response in time"):
        await fetcher.get(f"http://127.0.0.1:{port}/keys")
    await fetcher.aclose()
    for writer in writers:
        writer.close()
    server.close()


async def test_a_server_that_is_not_there_is_a_failure() -> None:
    fetcher = JsonFetcher()
    with pytest.raises(FetchFailed, match="cannot be fetched"):
        await fetcher.get("http://127.0.0.1:1/keys")
    await fetcher.aclose()


def jwk(algorithm: str, bits: int = 2048) -> dict[str, Any]:
    """A public key as it is published."""
    return public_jwk(algorithm, private_key(algorithm, bits=bits), kid="k")


ALL_OF_RSA = "PS256 RS256 RS512"


@pytest.mark.parametrize(
    ("base", "changes", "usable"),
    [
        ("RS256", {}, ALL_OF_RSA),
        ("RS256", {"alg": "RS512"}, "RS512"),
        ("RS256", {"alg": "HS256"}, ""),
        ("RS256", {"alg": "none"}, ""),
        ("RS256", {"alg": 5}, ""),
        ("RS256", {"use": "enc"}, ""),
        ("RS256", {"key_ops": ["encrypt"]}, ""),
        ("RS256", {"key_ops": ["verify", "encrypt"]}, ALL_OF_RSA),
        ("RS256", {"key_ops": "verify"}, ""),
        ("RS256", {"kid": 5}, ""),
        ("RS256", {"n": "AQAB"}, ""),
        ("RS256", {"n": 5}, ""),
        ("RS256", {"n": "!"}, ""),
        ("RS256", {"e": None}, ""),
        ("weak RSA", {}, ""),
        ("ES256", {}, "ES256"),
        ("ES256", {"crv": "P-384"}, ""),
        ("ES256", {"crv": "secp256k1"}, ""),
        ("ES256", {"crv": []}, ""),
        ("ES256", {"kty": "RSA"}, ""),
        ("EdDSA", {}, "EdDSA"),
        ("EdDSA", {"crv": "X25519"}, ""),
        ("", {"kty": "oct", "kid": "k", "k": "c2VjcmV0"}, ""),
        ("", {"kty": "oct", "kid": "k", "k": "c2VjcmV0", "alg": "RS256"}, ""),
        ("", {"kty": "unheard", "kid": "k"}, ""),
        ("", {}, ""),
        ("", None, ""),
        ("", "text", ""),
    ],
)
def test_of_a_key_set_only_public_keys_that_fit_are_used(base: str, changes: Any, usable: str) -> None:
    entry = changes
    if base:
        entry = (jwk("RS256", bits=1024) if base == "weak RSA" else jwk(base)) | changes
    asked = ["ES256", "ES256K", "ES384", "EdDSA", "HS256", "PS256", "RS256", "RS512", "none", "", None]
    keys = KeySet({"keys": [entry]})
    assert [algorithm for algorithm in asked if keys.find("k", algorithm)] == usable.split()


@pytest.mark.parametrize(
    ("published", "key_id", "found"),
    [
        (["a"], "a", True),
        (["a"], "b", False),
        (["a"], "A", False),
        (["a"], None, True),
        (["a", "b"], "b", True),
        (["a", "b"], None, False),
        ([None], None, True),
        ([None], "a", False),
        (["a"], ["a"], False),
        (["a"], 5, False),
        ([], None, False),
    ],
)
def test_a_key_is_found_by_its_id_or_by_being_the_only_one(
    published: list[str | None], key_id: object, found: bool
) -> None:
    bare = {name: value for name, value in jwk("RS256").items() if name != "kid"}
    entries = [bare if name is None else bare | {"kid": name} for name in published]
    keys = KeySet({"keys": [*entries, jwk("ES256")]})
    assert (keys.find(key_id, "RS256") is not None) == found


def test_a_private_key_that_is_published_by_mistake_is_read_as_a_public_one() -> None:
    private = RSAAlgorithm.to_jwk(cast("RSAPrivateKey", private_key("RS256")), as_dict=True)
    found = KeySet({"keys": [private | {"key_ops": ["verify"]}]}).find(None, "RS256")
    assert isinstance(found and found.key, RSAPublicKey)
