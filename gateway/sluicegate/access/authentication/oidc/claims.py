"""Verifies the tokens of an issuer, and returns their claims."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.access.authentication.jwt_claims import invalid_token
from sluicegate.access.authentication.jwt_signatures import Expectations, verify_claims
from sluicegate.access.authentication.oidc.source import KeySource
from sluicegate.config.sections.authentication import IssuerSettings


class IssuerClaims:
    """Verifies tokens with the issuer's keys."""

    def __init__(
        self, settings: IssuerSettings, keys: KeySource, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock
        self._expected = Expectations(
            settings.issuer, settings.audience, (settings.claim,), settings.leeway
        )

    async def verify(self, token: WebToken) -> tuple[dict[str, Any], float] | None:
        """Claims and expiry (seconds since the epoch) of a token; `None` if from another issuer."""
        if token.claims.get("iss") != self._settings.issuer:
            return None
        algorithm = token.header.get("alg")
        # Checked before keys are requested, so that forged tokens cause no requests to the issuer.
        if algorithm not in self._settings.algorithms:
            raise invalid_token("it is not signed by an accepted algorithm")
        key = await self._keys.find(token.header.get("kid"), algorithm)
        if key is None:
            raise invalid_token("it is signed by a key that its issuer does not publish")
        accepted = key.algorithms & set(self._settings.algorithms)
        return verify_claims(token, key.key, accepted, self._expected, self._clock())
