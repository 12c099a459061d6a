"""The service's own access tokens, for clients with a secret (RFC 6749, section 4.4)."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.access.authentication.oauth.endpoint import (
    granted_response,
    refusal_response,
)
from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.access.authentication.oauth.own_tokens import PeriodicKeys, sign_token, verify_token
from sluicegate.access.authentication.oauth.requests import MAX_BODY, OAuthError, TokenRequest
from sluicegate.api.errors import Unauthenticated
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.rest.responses import SCOPE
from sluicegate.http.bodies import read_body
from sluicegate.signing.keyring import KeyRing

_ISSUER = "sluicegate-delegation"
_PURPOSE = "delegation service access tokens"


class ServiceTokens:
    """Issues and verifies access tokens."""

    def __init__(
        self,
        settings: DelegationSettings,
        keys: KeyRing,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._keys = PeriodicKeys(keys.derive(_PURPOSE))
        self._clock = clock
        self._throttle = FailedLoginThrottle()

    def issue(self, client: str) -> str:
        """Issue a token for an authenticated client."""
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
        return sign_token(claims, key_id, key)

    def verify(self, token: WebToken) -> str | None:
        """Return the client of a token, or `None` if another issuer issued it."""
        key_id, now = token.header.get("kid"), self._clock()
        if not PeriodicKeys.is_own(key_id):
            return None
        key = self._keys.find(str(key_id), now)
        if key is None:
            raise Unauthenticated("the access token is signed with a key that is no longer used")
        claims, expires_at = verify_token(token, key, issuer=_ISSUER, required=("sub",), now=now)
        if expires_at <= now:
            raise Unauthenticated("the access token has expired; get a new one")
        return str(claims["sub"])

    async def endpoint(self, request: Request) -> Response:
        """Exchange client credentials for an access token."""
        try:
            headers, body = request.headers, await read_body(request, MAX_BODY)
            token_request = TokenRequest.parse(
                headers.get("content-type", ""), headers.get("authorization"), body, scopes=(SCOPE,)
            )
            self._check(token_request)
        except OAuthError as error:
            if error.status == 401 and not await self._throttle.delay():
                error = OAuthError("slow_down", "too many failed attempts; try again later", 429)
            return refusal_response(error)
        return granted_response(
            {
                "access_token": self.issue(token_request.client_id),
                "token_type": "bearer",
                "expires_in": self._settings.access_token_lifetime,
                "scope": SCOPE,
            }
        )

    def _check(self, token_request: TokenRequest) -> None:
        client = self._settings.clients.get(token_request.client_id)
        secret = client.secret.get_secret_value() if client and client.secret else ""
        if not hmac.compare_digest(secret.encode(), token_request.client_secret.encode()) or not secret:
            raise OAuthError("invalid_client", "client_id or client_secret is wrong", 401)
