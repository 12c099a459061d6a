"""Verifies the JSON Web Tokens of other issuers (RFC 7519, RFC 7515). Imports PyJWT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.algorithms import AllowedPublicKeys

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.access.authentication.jwt_claims import expiry, invalid_token

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
