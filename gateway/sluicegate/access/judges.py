"""The judges of web tokens: the gateway for its own, and each configured issuer. Loads PyJWT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sluicegate.access.grants import Grants
from sluicegate.access.oauth.access_tokens import AccessTokens
from sluicegate.access.web_tokens import TokenJudge
from sluicegate.config import Settings
from sluicegate.keyring import KeyRing


@dataclass(frozen=True, slots=True)
class Judges:
    """Who judges tokens, in this order, and what to close at the end."""

    own: AccessTokens
    issuers: Sequence[TokenJudge] = ()

    @property
    def all(self) -> Sequence[TokenJudge]:
        """The gateway first: it tells its own tokens by their key."""
        return (self.own, *self.issuers)

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        for issuer in self.issuers:
            await issuer.aclose()


def make_judges(
    settings: Settings, keys: KeyRing, grants: Grants, on_key_change: Callable[[], None]
) -> Judges:
    """The judges of a gateway.

    Args:
        settings: The gateway's.
        keys: Its signing keys.
        grants: Where clients and recipients are looked up.
        on_key_change: Called when the keys of an issuer have changed.
    """
    own = AccessTokens(keys, grants, settings.recipients.access_token_lifetime)
    if not settings.authentication.oidc:
        return Judges(own)
    from sluicegate.access.oidc.issuer import OidcIssuer  # loads aiohttp

    return Judges(
        own,
        [OidcIssuer.open(section, grants, on_key_change) for section in settings.authentication.oidc],
    )
