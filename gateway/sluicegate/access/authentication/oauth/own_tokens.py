"""JSON Web Tokens that the same service signs and verifies, with HMAC SHA-256 (RFC 7515).

PyJWT is not used for them: it imports cryptography, which takes 9 MB of memory in each process.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sluicegate.access.authentication.jwt import WebToken, expiry, invalid_token
from sluicegate.signing.keyring import KeyRing, derive

PERIOD_SECONDS = 86_400
"""Seconds for which a key signs. Tokens are valid for at most as long, so two keys are needed."""

_ID_PREFIX = "slg-"
_ID_BYTES = 12


class PeriodicKeys:
    """Signing keys by period."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._period = -1
        self._by_id: Mapping[str, bytes] = {}

    @staticmethod
    def is_own(key_id: object) -> bool:
        """Whether a key id could be one of the gateway's."""
        return isinstance(key_id, str) and key_id.startswith(_ID_PREFIX)

    def signing(self, now: float) -> tuple[str, bytes]:
        """Return the id and the key that sign at a time in seconds since the epoch."""
        return _key(self._keys.signing, _period(now))

    def find(self, key_id: str, now: float) -> bytes | None:
        """Return the key of an id from the current, previous, or next period; `None` for other ids.

        The next period is included for replicas whose clock is slightly ahead.
        """
        period = _period(now)
        if period != self._period:
            periods = (period - 1, period, period + 1)
            self._by_id = dict(_key(key, each) for key in self._keys.keys for each in periods)
            self._period = period
        return self._by_id.get(key_id)


def _period(now: float) -> int:
    return int(now // PERIOD_SECONDS)


def _key(root: bytes, period: int) -> tuple[str, bytes]:
    identity = derive(root, f"access token key id {period}")[:_ID_BYTES]
    key_id = _ID_PREFIX + base64.urlsafe_b64encode(identity).decode()
    return key_id, derive(root, f"access token key {period}")


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
