"""Verifies the signature and claims of JSON Web Tokens (RFC 7519, RFC 7515). Imports PyJWT."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.algorithms import AllowedPublicKeys

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.api.errors import Unauthenticated

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
        issuer: Value of the claim `iss`.
        audience: The claim `aud` must contain one of these; `None` if tokens have no audience.
        required: Required claims in addition to `iss` and `exp`.
        leeway: Accepted difference between clocks, in seconds.
    """

    issuer: str
    audience: Sequence[str] | None = None
    required: Sequence[str] = ()
    leeway: int = 0


def verify_claims(
    token: WebToken,
    key: AllowedPublicKeys | bytes,
    algorithms: Iterable[str],
    expected: Expectations,
    now: float,
) -> tuple[dict[str, Any], float]:
    """Return the claims of a token, and its expiry with leeway, in seconds since the epoch.

    Args:
        token: The token in the request.
        key: The key that must have signed it.
        algorithms: Accepted algorithms for this key. They never come from the token.
        expected: The required claims.
        now: Seconds since the epoch.

    Raises:
        Unauthenticated: The token is not valid.
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
        reason = _REASONS.get(type(error), "it is malformed")
        raise Unauthenticated(f"the access token is not valid: {reason}") from None
    return claims, _expiry(claims, expected.leeway, now)


def _expiry(claims: Mapping[str, Any], leeway: int, now: float) -> float:
    if _time(claims, "nbf", now) > now + leeway:
        raise Unauthenticated("the access token is not valid: it is not yet valid")
    return _time(claims, "exp", 0) + leeway


def _time(claims: Mapping[str, Any], claim: str, default: float) -> float:
    """A NumericDate (RFC 7519, section 2)."""
    value = claims.get(claim, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Unauthenticated(f"the access token is not valid: its claim {claim} is not a time")
    return value
