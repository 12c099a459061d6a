"""Verifies the tokens of an OIDC issuer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sluicegate.access.authentication.jwt import TokenVerifier, Verified, WebToken
from sluicegate.access.authentication.oidc.claims import IssuerClaims
from sluicegate.access.authentication.oidc.keys import KeySource
from sluicegate.access.grants import Grants
from sluicegate.api.errors import Unauthenticated
from sluicegate.config import OidcSettings
from sluicegate.database.names import check_name
from sluicegate.database.reads import RecipientRecord


class OidcIssuer(TokenVerifier):
    """Verifies tokens with the issuer's keys, and finds the recipients that they authenticate."""

    def __init__(
        self,
        settings: OidcSettings,
        keys: KeySource,
        grants: Grants,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._grants = grants
        self._claims = IssuerClaims(settings, keys, clock=clock)

    @classmethod
    def open(
        cls, settings: OidcSettings, grants: Grants, on_key_change: Callable[[], None]
    ) -> OidcIssuer:
        """Create a verifier that fetches the issuer's keys when they are needed."""
        keys = KeySource.of(settings, on_key_change)
        return cls(settings, keys, grants)

    @property
    def method(self) -> str:
        """The method `oidc`."""
        return "oidc"

    async def verify(self, token: WebToken) -> Verified | None:
        """Verify a token of this issuer, and determine the name of its recipient."""
        verified = await self._claims.verify(token)
        if verified is None:
            return None
        claims, expires_at = verified
        return Verified(self, self._recipient_name(claims), expires_at)

    async def recipient(self, verified: Verified) -> RecipientRecord:
        """Return the recipient of a verified token."""
        await self._keys.ensure_current()
        recipient = await self._grants.recipient(verified.subject)
        if recipient is None or not self._is_named(recipient, verified.subject):
            raise _nobody()
        return recipient

    async def aclose(self) -> None:
        """Close the connections to the issuer."""
        await self._keys.aclose()

    def _recipient_name(self, claims: dict[str, Any]) -> str:
        value, named = claims[self._settings.claim], self._settings.recipients
        if not isinstance(value, str):
            raise _nobody()
        try:
            # A name that no recipient can have is not looked up.
            return check_name("recipient", value if named is None else named.get(value, ""))
        except ValueError:
            raise _nobody() from None

    def _is_named(self, recipient: RecipientRecord, name: str) -> bool:
        # Names are case-insensitive, but claims are not: "ACME" can be another user of the issuer.
        return self._settings.recipients is not None or recipient.name == name


def _nobody() -> Unauthenticated:
    return Unauthenticated(
        "the access token is valid, but belongs to no recipient; contact the provider"
    )
