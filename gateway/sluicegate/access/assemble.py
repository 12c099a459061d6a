"""Puts together how recipients prove themselves: by tokens, OAuth clients, OIDC issuers, plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.routing import Route

from sluicegate.access.authentication import Authentication
from sluicegate.access.bearer import BearerTokens
from sluicegate.access.grants import Grants
from sluicegate.access.oauth.endpoint import TokenEndpoint
from sluicegate.access.plugged import Plugged
from sluicegate.access.web_tokens import TokenJudge, VerifiedTokens, WebTokens
from sluicegate.api import Authenticator
from sluicegate.config import Settings
from sluicegate.keyring import KeyRing
from sluicegate.late import Late

if TYPE_CHECKING:
    from sluicegate.access.judges import Judges
    from sluicegate.access.oauth.access_tokens import AccessTokens


class Access:
    """The ways in of a gateway.

    Args:
        settings: The gateway's.
        keys: Its signing keys.
        grants: Where recipients and their credentials are looked up.
        plugins: Authenticators that are asked last, in this order.

    Attributes:
        authentication: Recognises recipients, for every door.
    """

    def __init__(
        self,
        settings: Settings,
        keys: KeyRing,
        grants: Grants,
        plugins: Sequence[Authenticator] = (),
    ) -> None:
        verified = VerifiedTokens()

        def judges() -> Judges:
            from sluicegate.access.judges import make_judges  # loads cryptography

            return make_judges(settings, keys, grants, verified.forget)

        self._judges = Late(judges)
        self._token_endpoint = TokenEndpoint(grants, self._own_tokens)
        self.authentication = Authentication(
            [
                BearerTokens(grants),
                WebTokens(self._all_judges, verified),
                *(Plugged(plugin, grants) for plugin in plugins),
            ]
        )

    def routes(self) -> list[Route]:
        """Where recipients get access tokens."""
        return self._token_endpoint.routes()

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        if self._judges.made is not None:
            await self._judges.made.aclose()

    async def _own_tokens(self) -> AccessTokens:
        return (await self._judges.get()).own

    async def _all_judges(self) -> Sequence[TokenJudge]:
        return (await self._judges.get()).all
