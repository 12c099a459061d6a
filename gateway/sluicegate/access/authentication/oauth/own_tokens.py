"""JSON Web Tokens that the same service signs and verifies, with HMAC SHA-256 (RFC 7515).

PyJWT is not used for them: it imports cryptography, which takes 9 MB of memory in each process.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.access.authentication.jwt_claims import expiry, invalid_token

_ALGORITHM = "HS256"
_TYPE = "at+jwt"


def sign_token(claims: Mapping[str, Any], key_id: str, key: bytes) -> str:
    """Return a signed token."""
    header = {"alg": _ALGORITHM, "typ": _TYPE, "kid": key_id}
    content = f"{_encoded(orjson.dumps(header))}.{_encoded(orjson.dumps(claims))}"
    return f"{content}.{_signature(content, key)}"


def verify_token(
    token: WebToken, key: bytes, *, issuer: str, required: Sequence[str], now: float
) -> tuple[Mapping[str, Any], float]:
    """Return the claims of a token, and its expiry in seconds since the epoch, as `expiry` does.

    Args:
        key: The key that must have signed it.
    """
    if token.header.get("alg") != _ALGORITHM:
        raise invalid_token("it is not signed by an accepted algorithm")
    content, _, signature = token.text.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(content, key).encode()):
        raise invalid_token("its signature is wrong")
    if "crit" in token.header:  # RFC 7515, section 4.1.11: no extension is supported
        raise invalid_token("it is malformed")
    claims = token.claims
    if not {"iss", "exp", *required} <= claims.keys():
        raise invalid_token("a claim is missing")
    if claims["iss"] != issuer:
        raise invalid_token("it is from another issuer")
    if not all(isinstance(claims[name], str) for name in required):
        raise invalid_token("it is malformed")
    return claims, expiry(claims, now)


def _signature(content: str, key: bytes) -> str:
    return _encoded(hmac.digest(key, content.encode(), "sha256"))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
