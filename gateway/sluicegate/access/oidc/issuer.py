"""Judges the tokens of one OIDC issuer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sluicegate.access.grants import Grants
from sluicegate.access.oidc.claims import IssuerClaims
from sluicegate.access.oidc.source import KeySource
from sluicegate.access.web_tokens import TokenJudge, Verified, WebToken
from sluicegate.config import OidcSettings
from sluicegate.errors import Unauthenticated
from sluicegate.store.names import check_name
from sluicegate.store.reads import RecipientRecord


class OidcIssuer(TokenJudge):
    """Verifies tokens by the issuer's keys, and finds the recipients that they prove.

    Args:
        settings: The issuer's section.
        keys: The issuer's keys.
        grants: Where recipients are looked up.
        clock: Seconds since the epoch.
    """

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
        """A judge whose keys come from the network; nothing is fetched before it is needed.

        Args:
            settings: The issuer's section.
            grants: Where recipients are looked up.
            on_key_change: Called when the issuer's keys have changed.
        """
        keys = KeySource.of(settings, on_key_change)
        return cls(settings, keys, grants)

    @property
    def method(self) -> str:
        """OIDC."""
        return "oidc"

    async def verify(self, token: WebToken) -> Verified | None:
        """The recipient's name that a token of this issuer proves.

        Raises:
            Unauthenticated: The token is not valid, or is no recipient's.
            Unavailable: The issuer's keys cannot be had.
        """
        verified = await self._claims.verify(token)
        if verified is None:
            return None
        claims, expires_at = verified
        return Verified(self, self._recipient_name(claims), expires_at)

    async def recipient(self, verified: Verified) -> RecipientRecord:
        """The recipient of that name.

        Raises:
            Unauthenticated: There is none.
            Unavailable: The database does not answer, or the issuer has not for too long.
        """
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
        # Names are case-insensitive, claims are not: "ACME" may be somebody else at the issuer.
        return self._settings.recipients is not None or recipient.name == name


def _nobody() -> Unauthenticated:
    return Unauthenticated("the access token is valid, but of no recipient; tell the provider")
