"""Signed tokens for pages and refreshes, which expire and are bound to a recipient and a request."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Any

import orjson

from sluicegate.api.errors import InvalidRequest
from sluicegate.signing.keyring import KeyRing

PAGE_TOKEN_LIFETIME = 3600
"""Seconds for which page tokens are valid: longer than clients take for a page."""

_TAG = 16


class TokenSigner:
    """Creates and verifies tokens."""

    def __init__(self, keys: KeyRing, lifetime: int, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._lifetime = lifetime
        self._clock = clock

    def sign(self, state: dict[str, Any], *, bound_to: str) -> str:
        """Return a token that contains `state` and is valid only together with the same `bound_to`."""
        body = orjson.dumps({**state, "exp": int(self._clock()) + self._lifetime})
        tag = _tag(self._keys.signing, body, bound_to)
        return base64.urlsafe_b64encode(tag + body).decode().rstrip("=")

    def verify(self, token: str, *, bound_to: str, parameter: str) -> dict[str, Any]:
        """Verify a token and return its state."""
        body = self._open(token, bound_to)
        if body is None:
            raise InvalidRequest(
                f"{parameter} is not valid for this request: send a token exactly as it was returned, "
                "with the same parameters, or start again without one"
            )
        state: dict[str, Any] = orjson.loads(body)
        if state.pop("exp") < self._clock():
            raise InvalidRequest(f"{parameter} has expired: start again without one")
        return state

    def _open(self, token: str, bound_to: str) -> bytes | None:
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        tag, body = raw[:_TAG], raw[_TAG:]
        return body if self._keys.accepts(tag, lambda key: _tag(key, body, bound_to)) else None


def _tag(key: bytes, body: bytes, bound_to: str) -> bytes:
    bound = hashlib.sha256(bound_to.encode()).digest()
    return hmac.digest(key, bound + body, "sha256")[:_TAG]
