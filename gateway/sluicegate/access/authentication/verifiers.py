"""The verifiers of JWTs: the gateway's own, and one for each issuer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sluicegate.access.authentication.jwt import TokenVerifier
from sluicegate.access.authentication.oauth.access_tokens import AccessTokenIssuer
from sluicegate.access.grants import Grants
from sluicegate.config import Settings
from sluicegate.signing.keyring import KeyRing


@dataclass(frozen=True, slots=True)
class TokenVerifiers:
    """The verifiers in the order in which they are called."""

    own: AccessTokenIssuer
    issuers: Sequence[TokenVerifier] = ()

    @property
    def all(self) -> Sequence[TokenVerifier]:
        """All verifiers. The gateway's own, which recognizes tokens by their key, is the first."""
        return (self.own, *self.issuers)

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        for issuer in self.issuers:
            await issuer.aclose()


def make_verifiers(
    settings: Settings, keys: KeyRing, grants: Grants, on_key_change: Callable[[], None]
) -> TokenVerifiers:
    """Create the verifiers of a gateway."""
    own = AccessTokenIssuer(keys, grants, settings.recipients.access_token_lifetime)
    if not settings.authentication.oidc:
        return TokenVerifiers(own)
    from sluicegate.access.authentication.oidc.issuer import OidcIssuer  # loads PyJWT and aiohttp

    return TokenVerifiers(
        own,
        [OidcIssuer.open(section, grants, on_key_change) for section in settings.authentication.oidc],
    )
