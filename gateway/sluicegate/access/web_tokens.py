"""Recognises recipients by JSON Web Tokens: who issued a token judges it, and the verdict is kept.

Signatures are checked once a token; whether its recipient is let in, each time.
"""

from __future__ import annotations

import base64
import binascii
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from sluicegate.access.admission import admit
from sluicegate.access.authentication import bearer_token
from sluicegate.access.tokens import digest
from sluicegate.api import Authenticator
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.errors import Unauthenticated
from sluicegate.lru import LRU
from sluicegate.nouns import Principal
from sluicegate.store.reads import RecipientRecord

_LONGEST = 16_384
_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class WebToken:
    """A JWT (RFC 7519) that was read but not verified: its parts only tell who has to judge it."""

    text: str = field(repr=False)
    header: Mapping[str, Any] = field(repr=False)
    claims: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, text: str) -> WebToken | None:
        """The token; `None` for what is no signed JWT."""
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
    """What a token proves until it expires.

    Attributes:
        judge: Who verified it.
        subject: Whom it proves, in the judge's words.
        expires_at: Seconds since the epoch.
    """

    judge: TokenJudge
    subject: str
    expires_at: float


class TokenJudge(ABC):
    """Verifies the tokens of one issuer."""

    @property
    @abstractmethod
    def method(self) -> str:
        """How recipients prove themselves by such tokens, for audit."""

    @abstractmethod
    async def verify(self, token: WebToken) -> Verified | None:
        """What the token proves, or `None` for another issuer's.

        Raises:
            Unauthenticated: Mine, and bad.
            Unavailable: It cannot be verified now.
        """

    @abstractmethod
    async def recipient(self, verified: Verified) -> RecipientRecord:
        """Whom a verified token proves now.

        Raises:
            Unauthenticated: Nobody any more.
            Unavailable: That cannot be told now.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections; called once at the end."""


class VerifiedTokens:
    """The verdicts on the tokens that were seen last, by digest."""

    def __init__(self) -> None:
        self._verdicts: LRU[bytes, Verified] = LRU(_KEPT)

    def get(self, token: bytes) -> Verified | None:
        """The verdict on the token with this SHA-256."""
        return self._verdicts.get(token)

    def put(self, token: bytes, verified: Verified) -> None:
        """Keep a verdict."""
        self._verdicts.put(token, verified)

    def forget(self) -> None:
        """Let every token be verified anew, because keys have changed."""
        self._verdicts.clear()


class WebTokens(Authenticator):
    """Asks one judge after the other.

    Args:
        judges: Asked in this order; made when the first token comes, because they are heavy to load.
        verified: Keeps the verdicts.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        judges: Callable[[], Awaitable[Sequence[TokenJudge]]],
        verified: VerifiedTokens,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._judges = judges
        self._verified = verified
        self._clock = clock

    async def authenticate(self, authorization: str, address: str | None) -> Principal | None:
        """The recipient that a JWT proves; `None` for what is no JWT, or that of nobody known.

        Raises:
            Unauthenticated: The token is not valid, has expired, or proves nobody any more.
            PermissionDenied: The recipient may not call from this address.
            Unavailable: The database does not answer, or the issuer's keys cannot be had.
        """
        text = bearer_token(authorization)
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
        recipient = await verified.judge.recipient(verified)
        return admit(recipient, verified.judge.method, address)

    async def _verify(self, text: str) -> Verified | None:
        token = WebToken.read(text)
        if token is None:
            return None
        for judge in await self._judges():
            verified = await judge.verify(token)
            if verified is not None:
                return verified
        return None


def _json_object(encoded: str) -> Mapping[str, Any]:
    decoded = orjson.loads(base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True))
    if not isinstance(decoded, dict):
        raise ValueError("a part of a JWT is a JSON object")
    return decoded
