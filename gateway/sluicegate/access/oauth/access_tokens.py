"""Access tokens of the gateway's own: JWTs in the profile of RFC 9068, for nobody else to read.

The gateway that verifies them has issued them, so one secret key does for both (HS256).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import jwt

from sluicegate.access.admission import check_credential
from sluicegate.access.grants import Grants
from sluicegate.access.oauth.signing import PeriodicKeys
from sluicegate.access.signatures import Expectations, verify_claims
from sluicegate.access.web_tokens import TokenJudge, Verified, WebToken
from sluicegate.errors import Unauthenticated
from sluicegate.keyring import KeyRing
from sluicegate.store.reads import CredentialRecord, RecipientRecord

_ALGORITHM = "HS256"
_ISSUER = "sluicegate"
_EXPECTED = Expectations(_ISSUER, required=("client_id",))


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token that was just issued, for so many seconds."""

    text: str = field(repr=False)
    expires_in: int


class AccessTokens(TokenJudge):
    """Issues access tokens to OAuth clients, and verifies them.

    A token is bound to the client that it was issued to: it ends when the client does.

    Args:
        keys: The gateway's signing keys.
        grants: Where clients are looked up.
        lifetime: Seconds that a token lives.
        clock: Seconds since the epoch.
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
        """OAuth, with client credentials."""
        return "oauth"

    def issue(self, client: CredentialRecord, scope: str) -> AccessToken:
        """A token for a client that proved itself; it ends no later than the client."""
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
        text = jwt.encode(claims, key, _ALGORITHM, headers={"kid": key_id, "typ": "at+jwt"})
        return AccessToken(text, expires_at - now)

    async def verify(self, token: WebToken) -> Verified | None:
        """The client of a token that names one of the gateway's keys.

        Raises:
            Unauthenticated: The token was forged or changed, or is older than the keys.
        """
        key_id = token.header.get("kid")
        if not PeriodicKeys.is_own(key_id):
            return None
        now = self._clock()
        key = self._keys.find(str(key_id), now)
        if key is None:
            raise Unauthenticated(
                "the access token is of a key that is not used any more; get a new one"
            )
        claims, expires_at = verify_claims(token, key, [_ALGORITHM], _EXPECTED, now)
        return Verified(self, str(claims["client_id"]), expires_at)

    async def recipient(self, verified: Verified) -> RecipientRecord:
        """Whose client it is.

        Raises:
            Unauthenticated: The client was removed or revoked, or has expired.
            Unavailable: The database does not answer.
        """
        client = await self._grants.client(verified.subject)
        if client is None:
            raise Unauthenticated("the OAuth client is gone; ask the provider for a new profile")
        check_credential(client, "OAuth client", int(self._clock() * 1000))
        return client.recipient
