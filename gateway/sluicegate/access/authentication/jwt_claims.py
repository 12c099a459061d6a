"""Checks the times in JSON Web Tokens (RFC 7519, section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sluicegate.api.errors import Unauthenticated


def expiry(claims: Mapping[str, Any], now: float, leeway: int = 0) -> float:
    """Return the expiry of a token in seconds since the epoch, with leeway. It may be in the past."""
    if _time(claims, "nbf", now) > now + leeway:
        raise invalid_token("it is not yet valid")
    return _time(claims, "exp", 0) + leeway


def invalid_token(reason: str) -> Unauthenticated:
    """The error for a token that is not valid."""
    return Unauthenticated(f"the access token is not valid: {reason}")


def _time(claims: Mapping[str, Any], claim: str, default: float) -> float:
    """A NumericDate (RFC 7519, section 2)."""
    value = claims.get(claim, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise invalid_token(f"its claim {claim} is not a time")
    return value
