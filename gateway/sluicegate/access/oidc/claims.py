"""What the tokens of one issuer say, once their signature is verified."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sluicegate.access.oidc.source import KeySource
from sluicegate.access.signatures import Expectations, verify_claims
from sluicegate.access.web_tokens import WebToken
from sluicegate.config import OidcSettings
from sluicegate.errors import Unauthenticated


class IssuerClaims:
    """Verifies tokens by the issuer's keys.

    Args:
        settings: The issuer's section.
        keys: The issuer's keys.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, settings: OidcSettings, keys: KeySource, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock
        self._expected = Expectations(
            settings.issuer, settings.audience, (settings.claim,), settings.leeway
        )

    async def verify(self, token: WebToken) -> tuple[dict[str, Any], float] | None:
        """The claims and the expiry (seconds since the epoch) of a token; `None` for another issuer's.

        Raises:
            Unauthenticated: The token is not valid.
            Unavailable: The issuer's keys cannot be had.
        """
        if token.claims.get("iss") != self._settings.issuer:
            return None
        algorithm = token.header.get("alg")
        # Before any key is asked for: what an attacker writes here costs the issuer nothing.
        if algorithm not in self._settings.algorithms:
            raise _invalid("it is not signed by an accepted algorithm")
        key = await self._keys.find(token.header.get("kid"), algorithm)
        if key is None:
            raise _invalid("it is signed by a key that its issuer does not have")
        accepted = key.algorithms & set(self._settings.algorithms)
        return verify_claims(token, key.key, accepted, self._expected, self._clock())


def _invalid(reason: str) -> Unauthenticated:
    return Unauthenticated(f"the access token is not valid: {reason}")
