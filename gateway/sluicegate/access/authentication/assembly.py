"""Assembles the authenticators of a gateway: tokens, OAuth clients, OIDC issuers and plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.routing import Route

from sluicegate._util.lazy import Lazy
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.bearer_tokens import BearerTokens, ImportedTokens
from sluicegate.access.authentication.jwt import TokenVerifier, VerifiedTokens, WebTokens
from sluicegate.access.authentication.oauth.endpoint import TokenEndpoint
from sluicegate.access.authentication.plugin import PluginAuthenticator
from sluicegate.access.grants import Grants
from sluicegate.api import Authenticator
from sluicegate.config import Settings
from sluicegate.http.client_certificates import ClientCertificates
from sluicegate.signing.keyring import KeyRing

if TYPE_CHECKING:
    from sluicegate.access.authentication.oauth.access_tokens import AccessTokenIssuer
    from sluicegate.access.authentication.verifiers import TokenVerifiers


class Access:
    """The authenticators of a gateway, and the routes and connections that they need.

    Args:
        plugins: Authenticators that are called last, in this order.
    """

    def __init__(
        self,
        settings: Settings,
        keys: KeyRing,
        grants: Grants,
        plugins: Sequence[Authenticator] = (),
        certificates: ClientCertificates | None = None,
    ) -> None:
        verified = VerifiedTokens()

        def verifiers() -> TokenVerifiers:
            from sluicegate.access.authentication.verifiers import make_verifiers

            return make_verifiers(settings, keys, grants, verified.forget)

        self._verifiers = Lazy(verifiers)
        self._token_endpoint = TokenEndpoint(grants, self._own_tokens)
        self.authentication = Authentication(
            [
                BearerTokens(grants),
                WebTokens(self._all_verifiers, verified),
                ImportedTokens(grants),
                *(PluginAuthenticator(plugin, grants) for plugin in plugins),
            ],
            certificates,
        )

    def routes(self) -> list[Route]:
        """The routes at which recipients get access tokens."""
        return self._token_endpoint.routes()

    async def preload(self) -> None:
        """Load the verifiers of JWTs."""
        await self._verifiers.get()

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        if self._verifiers.made is not None:
            await self._verifiers.made.aclose()

    async def _own_tokens(self) -> AccessTokenIssuer:
        return (await self._verifiers.get()).own

    async def _all_verifiers(self) -> Sequence[TokenVerifier]:
        return (await self._verifiers.get()).all
