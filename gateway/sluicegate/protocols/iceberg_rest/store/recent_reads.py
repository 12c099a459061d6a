"""The reads that were recorded recently: a scan reads a file in many ranges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from sluicegate._util.lru import LRU

COVERED: Final = 60
"""Seconds for which the record of a read covers further reads of the same file with the same key."""

_KEPT = 50_000  # about 150 bytes each


class RecentReads:
    """The reads whose records are stored."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: LRU[bytes, float] = LRU(_KEPT)

    @staticmethod
    def of(*parts: str) -> bytes:
        """What identifies a read. No part contains line feeds."""
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).digest()

    def covers(self, read: bytes) -> bool:
        """Whether a record covers a read."""
        until = self._until.get(read)
        return until is not None and self._clock() < until

    def add(self, read: bytes) -> None:
        """Add a read whose record is now stored. Covered reads don't extend the time."""
        if not self.covers(read):
            self._until.put(read, self._clock() + COVERED)
