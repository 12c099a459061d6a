"""Authenticates recipients with JSON Web Tokens, and caches the results of their verification.

The signature of a token is verified once. Whether its recipient has access is checked for each request.
"""

from __future__ import annotations

import base64
import binascii
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from sluicegate._util.lru import LRU
from sluicegate.access.authentication.authenticate import BEARER, bearer_token
from sluicegate.access.authentication.recipient_checks import check_recipient
from sluicegate.access.recipients.secrets import digest
from sluicegate.api import AuthenticationRequest, Authenticator
from sluicegate.api.errors import Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.audit.trail import note_claim
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.database.reads import RecipientRecord


def expiry(claims: Mapping[str, Any], now: float, leeway: int = 0) -> float:
    """Return the expiry of a token in seconds since the epoch, with leeway. It may be in the past."""
    if _time(claims, "nbf", now) > now + leeway:
        raise invalid_token("it is not yet valid")
    return _time(claims, "exp", 0) + leeway


def invalid_token(reason: str) -> Unauthenticated:
    """The error for a token that is not valid."""
    return Unauthenticated(f"the access token is not valid: {reason}")


def _time(claims: Mapping[str, Any], claim: str, default: float) -> float:
    """A NumericDate (RFC 7519, section 2)."""
    value = claims.get(claim, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise invalid_token(f"its claim {claim} is not a time")
    return value


_LONGEST = 16_384
_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class WebToken:
    """A JWT (RFC 7519) that is parsed but not verified. Its contents only select the verifier."""

    text: str = field(repr=False)
    header: Mapping[str, Any] = field(repr=False)
    claims: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, text: str) -> WebToken | None:
        """Parse a token; `None` if the text is not a signed JWT."""
        if len(text) > _LONGEST or text.count(".") != 2:
            return None
        header, claims, _ = text.split(".")
        try:
            read = _json_object(header), _json_object(claims)
        except (binascii.Error, ValueError):
            return None
        return cls(text, *read)


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of the verification of a token, which is valid until the token expires.

    Attributes:
        expires_at: Seconds since the epoch.
    """

    verifier: TokenVerifier
    subject: str
    expires_at: float


class TokenVerifier(ABC):
    """Verifies the tokens of one issuer."""

    @property
    @abstractmethod
    def method(self) -> str:
        """The method of authentication, for audit."""

    @abstractmethod
    async def verify(self, token: WebToken) -> Verified | None:
        """Verify a token; `None` if it is from another issuer."""

    @abstractmethod
    async def recipient(self, verified: Verified) -> RecipientRecord:
        """The current recipient of a verified token."""

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections. Called once, at shutdown."""


class VerifiedTokens:
    """A cache of the results for the most recent tokens, by digest."""

    def __init__(self) -> None:
        self._verified: LRU[bytes, Verified] = LRU(_KEPT)

    def get(self, token: bytes) -> Verified | None:
        """The result for the token with this SHA-256, or `None`."""
        return self._verified.get(token)

    def put(self, token: bytes, verified: Verified) -> None:
        """Cache a result."""
        self._verified.put(token, verified)

    def forget(self) -> None:
        """Clear the cache, so that all tokens are verified again after a change of keys."""
        self._verified.clear()


class WebTokens(Authenticator):
    """Verifies JWTs with the first verifier that recognizes them.

    Args:
        verifiers: Called in this order. Created for the first token, because they are slow to import.
    """

    challenge = BEARER

    def __init__(
        self,
        verifiers: Callable[[], Awaitable[Sequence[TokenVerifier]]],
        verified: VerifiedTokens,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._verifiers = verifiers
        self._verified = verified
        self._clock = clock

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """The recipient of a JWT; `None` for other tokens, and for JWTs of unknown issuers."""
        text = bearer_token(request.authorization)
        if text is None or "." not in text:
            return None
        key = digest(text)
        verified = self._verified.get(key)
        if verified is None:
            verified = await self._verify(text)
            if verified is None:
                return None
            self._verified.put(key, verified)
        now = self._clock()
        if verified.expires_at <= now:
            raise Unauthenticated("the access token has expired; get a new one")
        if verified.expires_at > now + LONGEST_TOKEN:
            raise Unauthenticated("the access token is valid for more than a year; get a shorter one")
        note_claim(verified.verifier.method)
        recipient = await verified.verifier.recipient(verified)
        return check_recipient(recipient, verified.verifier.method, request.address)

    async def _verify(self, text: str) -> Verified | None:
        token = WebToken.read(text)
        if token is None:
            return None
        for verifier in await self._verifiers():
            verified = await verifier.verify(token)
            if verified is not None:
                return verified
        return None


def _json_object(encoded: str) -> Mapping[str, Any]:
    decoded = orjson.loads(base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True))
    if not isinstance(decoded, dict):
        raise ValueError("a part of a JWT is a JSON object")
    return decoded
