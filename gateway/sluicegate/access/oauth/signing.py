"""The keys that sign access tokens: new ones every day, made from the gateway's signing keys.

Replicas agree on them without a word, and nothing has to be stored.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from sluicegate.keyring import KeyRing, derive

PERIOD_SECONDS = 86_400
"""How long one key signs; tokens live no longer, so that a key is needed for two periods at most."""

_ID_PREFIX = "slg-"
_ID_BYTES = 12


class PeriodicKeys:
    """Signing keys by period.

    Args:
        keys: The gateway's signing keys; each has its own keys of every period.
    """

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._period = -1
        self._by_id: Mapping[str, bytes] = {}

    @staticmethod
    def is_own(key_id: object) -> bool:
        """Whether a key id could be one of the gateway's."""
        return isinstance(key_id, str) and key_id.startswith(_ID_PREFIX)

    def signing(self, now: float) -> tuple[str, bytes]:
        """The id and the key that sign now, in seconds since the epoch."""
        return _key(self._keys.signing, _period(now))

    def find(self, key_id: str, now: float) -> bytes | None:
        """The key of an id, where it signs now, did in the period before, or will in the next.

        The next one's is known for replicas whose clock is a little ahead.
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
