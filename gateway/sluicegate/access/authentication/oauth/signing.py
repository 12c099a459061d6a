"""The keys that sign access tokens. They are derived from the gateway's signing keys for each day.

Replicas derive the same keys without communication or storage.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

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
