"""Verifies the tokens of an issuer, and returns their claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.algorithms import AllowedPublicKeys

from sluicegate.access.authentication.jwt import WebToken, expiry, invalid_token
from sluicegate.access.authentication.oidc.keys import KeySource
from sluicegate.config.sections.authentication import IssuerSettings

_REASONS: Mapping[type[jwt.PyJWTError], str] = {
    jwt.InvalidAlgorithmError: "it is not signed by an accepted algorithm",
    jwt.InvalidSignatureError: "its signature is wrong",
    jwt.InvalidIssuerError: "it is from another issuer",
    jwt.InvalidAudienceError: "it is for another audience",
    jwt.MissingRequiredClaimError: "a claim is missing",
}


@dataclass(frozen=True, slots=True)
class Expectations:
    """The required claims of a valid token.

    Attributes:
        audience: The claim `aud` must contain one of these; `None` if tokens have no audience.
        leeway: Accepted difference between clocks, in seconds.
    """

    issuer: str
    audience: Sequence[str] | None = None
    required: Sequence[str] = ()
    leeway: int = 0


def verify_claims(
    token: WebToken,
    key: AllowedPublicKeys,
    algorithms: Iterable[str],
    expected: Expectations,
    now: float,
) -> tuple[dict[str, Any], float]:
    """Return the claims of a token, and its expiry with leeway, in seconds since the epoch.

    Args:
        key: The key that must have signed it.
        algorithms: Accepted algorithms for this key. They never come from the token.
    """
    try:
        claims = jwt.decode(
            token.text,
            key,
            algorithms=list(algorithms),
            issuer=expected.issuer,
            audience=expected.audience,
            options={
                "require": ["iss", "exp", *expected.required],
                "verify_aud": expected.audience is not None,
                # The times are checked below, with the same clock for new and cached tokens.
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except jwt.PyJWTError as error:
        raise invalid_token(_REASONS.get(type(error), "it is malformed")) from None
    return claims, expiry(claims, now, expected.leeway)


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
