"""Limits how many objects are deleted per second."""

from __future__ import annotations

import threading
import time


class Pace:
    """Delays requests, so that they delete no more objects per second than a limit. Thread-safe.

    Requests become small enough that each contains the deletions of one second at most. Otherwise,
    a request with a thousand keys would exceed the store's limit for that second.
    """

    def __init__(self, per_second: float | None) -> None:
        self._per_second = per_second
        self._free_at = 0.0
        self._lock = threading.Lock()

    def most(self, keys: int, seconds: int = 1) -> int:
        """Return how many of some keys can be deleted within seconds; at least one."""
        return keys if self._per_second is None else max(1, min(keys, int(self._per_second * seconds)))

    def wait(self, keys: int) -> None:
        """Wait until a request can delete this many objects."""
        if self._per_second is None:
            return
        with self._lock:
            now = time.monotonic()
            start = max(now, self._free_at)
            self._free_at = start + keys / self._per_second
        time.sleep(start - now)
