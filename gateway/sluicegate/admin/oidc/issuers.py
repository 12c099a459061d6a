"""Authenticates administrators by tokens of OIDC issuers. Imports PyJWT and aiohttp."""

from __future__ import annotations

import time
from collections.abc import Callable

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.access.authentication.oidc.claims import IssuerClaims
from sluicegate.access.authentication.oidc.keys import KeySource
from sluicegate.admin.identity import Admin
from sluicegate.admin.oidc.identity import AdminIdentity, mapped_values
from sluicegate.api.errors import Unauthenticated
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.config.sections.admin import AdminIssuerSettings

_LONGEST_NAME = 255


class AdminIssuer:
    """The administrators of an issuer."""

    def __init__(
        self, settings: AdminIssuerSettings, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._keys = KeySource.of(settings, lambda: None)  # nothing is cached
        self._claims = IssuerClaims(settings, self._keys, clock=clock)
        self._clock = clock

    async def authenticate(self, token: WebToken) -> Admin | None:
        """The administrator of a token; `None` if it is from another issuer."""
        verified = await self.identify(token)
        if verified is None:
            return None
        identity, expires_at = verified
        return identity.admin(self._settings, int(expires_at * 1000))

    async def identify(self, token: WebToken) -> tuple[AdminIdentity, float] | None:
        """The identity in a token, and its expiry (seconds since the epoch); see `authenticate`."""
        verified = await self._claims.verify(token)
        if verified is None:
            return None
        claims, expires_at = verified
        now = self._clock()
        if expires_at <= now:
            raise Unauthenticated("the access token has expired; get a new one")
        if expires_at > now + LONGEST_TOKEN:
            raise Unauthenticated("the access token is valid for more than a year; get a shorter one")
        name = claims[self._settings.claim]
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            raise Unauthenticated(f"the claim {self._settings.claim} of the access token is not a name")
        values = mapped_values(self._settings, claims.get(self._settings.role_claim))
        return AdminIdentity(self._settings.issuer, name, values), expires_at

    async def aclose(self) -> None:
        """Close the connections to the issuer."""
        await self._keys.aclose()
