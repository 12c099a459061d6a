"""The service's own access tokens, for clients with a secret (RFC 6749, section 4.4)."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from uuid import uuid4

import jwt
from starlette.requests import Request
from starlette.responses import Response

from sluicegate.access.oauth.endpoint import granted_response, refusal_response
from sluicegate.access.oauth.penalty import Penalty
from sluicegate.access.oauth.requests import OAuthError, TokenRequest
from sluicegate.access.oauth.signing import PeriodicKeys
from sluicegate.access.signatures import Expectations, verify_claims
from sluicegate.access.web_tokens import WebToken
from sluicegate.config.delegation import DelegationSettings
from sluicegate.delegation.callers import SCOPE
from sluicegate.errors import Unauthenticated
from sluicegate.http.bodies import read_body
from sluicegate.keyring import KeyRing

_ALGORITHM = "HS256"
_ISSUER = "sluicegate-delegation"
_PURPOSE = "delegation service access tokens"
_MAX_BODY = 16_384


class ServiceTokens:
    """Issues and verifies access tokens.

    Args:
        settings: The clients and how long tokens live.
        keys: Secret keys; their purpose is derived here.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        settings: DelegationSettings,
        keys: KeyRing,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._keys = PeriodicKeys(keys.derive(_PURPOSE))
        self._clock = clock
        self._penalty = Penalty()

    def issue(self, client: str) -> str:
        """A token for a client that has proved itself."""
        now = int(self._clock())
        claims = {
            "iss": _ISSUER,
            "sub": client,
            "scope": SCOPE,
            "iat": now,
            "exp": now + self._settings.access_token_lifetime,
            "jti": str(uuid4()),
        }
        key_id, key = self._keys.signing(now)
        return jwt.encode(claims, key, _ALGORITHM, headers={"kid": key_id, "typ": "at+jwt"})

    def verify(self, token: WebToken) -> str | None:
        """The client of a token; `None` for what somebody else has issued.

        Raises:
            Unauthenticated: It was issued here, and is not valid any more or was changed.
        """
        key_id, now = token.header.get("kid"), self._clock()
        if not PeriodicKeys.is_own(key_id):
            return None
        key = self._keys.find(str(key_id), now)
        if key is None:
            raise Unauthenticated("the access token is of a key that is not used any more")
        expected = Expectations(_ISSUER, required=("sub",))
        claims, expires_at = verify_claims(token, key, [_ALGORITHM], expected, now)
        if expires_at <= now:
            raise Unauthenticated("the access token has expired; get a new one")
        return str(claims["sub"])

    async def endpoint(self, request: Request) -> Response:
        """Client credentials in, an access token out."""
        try:
            headers, body = request.headers, await read_body(request, _MAX_BODY)
            asked = TokenRequest.parse(
                headers.get("content-type", ""), headers.get("authorization"), body, scopes=(SCOPE,)
            )
            self._check(asked)
        except OAuthError as error:
            if error.status == 401 and not await self._penalty.serve():
                error = OAuthError("slow_down", "too many refused attempts; wait", 429)
            return refusal_response(error)
        return granted_response(
            {
                "access_token": self.issue(asked.client_id),
                "token_type": "bearer",
                "expires_in": self._settings.access_token_lifetime,
                "scope": SCOPE,
            }
        )

    def _check(self, asked: TokenRequest) -> None:
        client = self._settings.clients.get(asked.client_id)
        secret = client.secret.get_secret_value() if client and client.secret else ""
        if not hmac.compare_digest(secret.encode(), asked.client_secret.encode()) or not secret:
            raise OAuthError("invalid_client", "client_id or client_secret is wrong", 401)
