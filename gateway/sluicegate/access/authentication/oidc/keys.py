"""Caches the keys of an issuer, and limits how often they are requested."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import AllowedKeys, AllowedPublicKeys, ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from sluicegate._util.tasks import cancel_all
from sluicegate.access.authentication.oidc.fetch import FetchFailed, JsonFetcher
from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.authentication import IssuerSettings, check_key_address

_SMALLEST_RSA_BITS = 2048
_OF_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_OF_CURVE = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
# The members of a public key. Private members, which an issuer may publish by mistake, are not read.
_PUBLIC = ("kty", "n", "e", "crv", "x", "y")


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, and the algorithms that it can be used with."""

    key_id: str | None
    algorithms: frozenset[str]
    key: AllowedPublicKeys = field(repr=False)


class KeySet:
    """The usable keys of an issuer. Other keys are left out."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        entries = document.get("keys")
        if not isinstance(entries, list):
            raise ValueError("the document is not a JWK set")
        self._document = entries
        self._keys = [key for entry in entries if (key := _key(entry)) is not None]

    def __len__(self) -> int:
        return len(self._keys)

    def same_as(self, other: KeySet) -> bool:
        """Whether both are from equal documents."""
        return self._document == other._document

    def find(self, key_id: object, algorithm: object) -> VerificationKey | None:
        """Return the key that a token names; without a key id, the only one for the algorithm."""
        found: Sequence[VerificationKey] = [
            key for key in self._keys if algorithm in key.algorithms and key_id in (None, key.key_id)
        ]
        return found[0] if len(found) == 1 or (found and key_id is not None) else None


def _key(entry: object) -> VerificationKey | None:
    if not isinstance(entry, dict) or not _may_verify(entry):
        return None
    try:
        key = _public_key(entry)
    except (jwt.PyJWTError, UnsupportedAlgorithm, ValueError, TypeError):
        return None
    algorithms = _algorithms(key)
    if "alg" in entry:
        algorithms &= {entry["alg"]} if isinstance(entry["alg"], str) else frozenset()
    key_id = entry.get("kid")
    usable = algorithms and (key_id is None or isinstance(key_id, str))
    return VerificationKey(key_id, algorithms, key) if usable else None  # type: ignore[arg-type]


def _may_verify(entry: Mapping[str, Any]) -> bool:
    operations = entry.get("key_ops", ["verify"])
    return entry.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations


def _public_key(entry: Mapping[str, Any]) -> AllowedKeys | None:
    """Return the key, or `None` for other kinds than public keys, such as symmetric keys."""
    public = {name: entry[name] for name in _PUBLIC if name in entry}
    match entry.get("kty"):
        case "RSA":
            return RSAAlgorithm.from_jwk(public)
        case "EC":
            return ECAlgorithm.from_jwk(public)
        case "OKP":
            return OKPAlgorithm.from_jwk(public)
        case _:
            return None


def _algorithms(key: AllowedKeys | None) -> frozenset[str]:
    match key:
        case RSAPublicKey() if key.key_size >= _SMALLEST_RSA_BITS:
            return _OF_RSA
        case EllipticCurvePublicKey():
            return frozenset({_OF_CURVE[key.curve.name]} if key.curve.name in _OF_CURVE else ())
        case Ed25519PublicKey():
            return frozenset({"EdDSA"})
        case _:
            return frozenset()


WELL_KNOWN = "/.well-known/openid-configuration"


class KeyFetcher:
    """Fetches the keys of one issuer."""

    def __init__(self, settings: IssuerSettings) -> None:
        self._settings = settings
        self._fetcher = JsonFetcher()

    async def fetch(self) -> KeySet:
        """Fetch the current keys of the issuer."""
        address = self._settings.jwks_uri or await self._discover()
        try:
            return KeySet(await self._fetcher.get(address))
        except ValueError as error:
            raise FetchFailed(f"{address}: {error}") from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._fetcher.aclose()

    async def _discover(self) -> str:
        """Return the URL of the keys from the discovery document, which must name the same issuer."""
        issuer = self._settings.issuer
        address = issuer.rstrip("/") + WELL_KNOWN
        document = await self._fetcher.get(address)
        if document.get("issuer") != issuer:
            raise FetchFailed(f"{address} is for another issuer than {issuer}")
        found = str(document.get("jwks_uri"))
        try:
            check_key_address(found)
        except ValueError as error:
            raise FetchFailed(f"{address} names an unusable jwks_uri: {error}") from None
        if issuer.startswith("https:") and not found.startswith("https:"):
            raise FetchFailed(f"{address} names a jwks_uri that is not https://")
        return found


log = logging.getLogger(__name__)

_SECONDS_BETWEEN_ATTEMPTS = 10.0


class KeySource:
    """The keys of one issuer, cached.

    Known keys are returned immediately. They are refreshed in the background after `max_age`. If this
    fails, they are used until `max_stale`. Unknown keys are requested from the issuer, but at most once
    in 10 seconds, so that tokens with invented keys don't cause requests.
    """

    def __init__(
        self,
        fetcher: KeyFetcher,
        on_change: Callable[[], None],
        *,
        max_age: float,
        max_stale: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetcher = fetcher
        self._on_change = on_change
        self._max_age = max_age
        self._max_stale = max(max_stale, max_age)
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched_at = self._tried_at = float("-inf")
        self._renewing: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, settings: IssuerSettings, on_change: Callable[[], None]) -> KeySource:
        """Create a source that fetches the issuer's keys when they are needed."""
        return cls(
            KeyFetcher(settings),
            on_change,
            max_age=settings.keys_max_age,
            max_stale=settings.keys_max_stale,
        )

    async def ensure_current(self) -> KeySet:
        """Return the keys, which can be up to `max_stale` old."""
        age = self._clock() - self._fetched_at
        if self._keys is None or age >= self._max_stale:
            await self._renew()
            age = self._clock() - self._fetched_at
        elif age >= self._max_age:
            self._start_renewal()
        if self._keys is None or age >= self._max_stale:
            raise Unavailable("the issuer of the access token does not respond; try again later")
        return self._keys

    async def find(self, key_id: object, algorithm: object) -> VerificationKey | None:
        """Return the key that a token's header names; `None` if the issuer has no such key."""
        found = (await self.ensure_current()).find(key_id, algorithm)
        if found is not None:
            return found
        await self._renew()
        found = (await self.ensure_current()).find(key_id, algorithm)
        if found is None and self._tried_at > self._fetched_at:
            raise Unavailable("the issuer of the access token does not respond; try again later")
        return found

    async def aclose(self) -> None:
        """Cancel a running request."""
        if self._renewing is not None:
            await cancel_all(self._renewing)
        await self._fetcher.aclose()

    async def _renew(self) -> None:
        """Fetch the keys, unless they were just fetched. Concurrent callers share the request."""
        self._start_renewal()
        if self._renewing is not None:
            await asyncio.shield(self._renewing)

    def _start_renewal(self) -> None:
        if self._renewing is None and self._clock() >= self._tried_at + _SECONDS_BETWEEN_ATTEMPTS:
            self._tried_at = self._clock()
            self._renewing = asyncio.create_task(self._fetch_keys())
            self._renewing.add_done_callback(self._end_renewal)

    def _end_renewal(self, _: asyncio.Task[None]) -> None:
        self._renewing = None

    async def _fetch_keys(self) -> None:
        try:
            keys = await self._fetcher.fetch()
        except FetchFailed as error:
            log.warning("the keys of an OIDC issuer were not renewed: %s", error)
            return
        self._fetched_at = self._tried_at
        if self._keys is None or not keys.same_as(self._keys):
            self._keys = keys
            self._on_change()
