"""Access tokens of the gateway itself: JWTs in the profile of RFC 9068, which only it reads.

The gateway both issues and verifies them, so one secret key is sufficient (HS256).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from sluicegate.access.authentication.jwt import TokenVerifier, Verified, WebToken
from sluicegate.access.authentication.oauth.own_tokens import PeriodicKeys, sign_token, verify_token
from sluicegate.access.authentication.recipient_checks import check_credential
from sluicegate.access.grants import Grants
from sluicegate.api.errors import Unauthenticated
from sluicegate.audit.trail import note_credential
from sluicegate.database.reads import CredentialRecord, RecipientRecord
from sluicegate.signing.keyring import KeyRing

_ISSUER = "sluicegate"
_REQUIRED = ("sub", "client_id")


@dataclass(frozen=True, slots=True)
class IssuedAccessToken:
    """A new token, and its lifetime in seconds."""

    text: str = field(repr=False)
    expires_in: int


class AccessTokenIssuer(TokenVerifier):
    """Issues access tokens to OAuth clients, and verifies them.

    A token is bound to its client: it becomes invalid when the client is revoked or expires.
    """

    def __init__(
        self,
        keys: KeyRing,
        grants: Grants,
        lifetime: int,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = PeriodicKeys(keys)
        self._grants = grants
        self._lifetime = lifetime
        self._clock = clock

    @property
    def method(self) -> str:
        """The method `oauth`: client credentials."""
        return "oauth"

    def issue(self, client: CredentialRecord, scope: str) -> IssuedAccessToken:
        """Issue a token for an authenticated client. It expires no later than the client."""
        now = int(self._clock())
        expires_at = min(now + self._lifetime, client.expires_at // 1000)
        claims = {
            "iss": _ISSUER,
            "sub": client.recipient.id,
            "client_id": client.id,
            "scope": scope,
            "iat": now,
            "exp": expires_at,
            "jti": str(uuid4()),
        }
        key_id, key = self._keys.signing(now)
        return IssuedAccessToken(sign_token(claims, key_id, key), expires_at - now)

    async def verify(self, token: WebToken) -> Verified | None:
        """Return the client of a token that names one of the gateway's keys."""
        key_id = token.header.get("kid")
        if not PeriodicKeys.is_own(key_id):
            return None
        now = self._clock()
        key = self._keys.find(str(key_id), now)
        if key is None:
            raise Unauthenticated(
                "the access token is signed with a key that is no longer used; get a new one"
            )
        claims, expires_at = verify_token(token, key, issuer=_ISSUER, required=_REQUIRED, now=now)
        return Verified(self, str(claims["client_id"]), expires_at)

    async def recipient(self, verified: Verified) -> RecipientRecord:
        """Return the recipient of the token's client."""
        client = await self._grants.client(verified.subject)
        if client is None:
            raise Unauthenticated(
                "the OAuth client no longer exists; ask the provider for a new profile"
            )
        check_credential(client, "OAuth client", self.method, int(self._clock() * 1000))
        note_credential(client.id)
        return client.recipient
