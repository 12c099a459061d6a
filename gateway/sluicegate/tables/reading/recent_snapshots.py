"""Keeps snapshots that are too large for the cache for a short time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from sluicegate._util.timers import call_later

if TYPE_CHECKING:
    from sluicegate.tables.snapshot import Snapshot

_SECONDS = 60.0  # several polling intervals of clients, or intervals between the pages of a response
_AT_ONCE = 2  # the maximum number of large reads that run concurrently


class RecentSnapshots:
    """Keeps a few snapshots until they have not been used for a while.

    Without it, each page of a response and each poll of an asynchronous query would read the table
    again.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Snapshot, asyncio.TimerHandle]] = OrderedDict()

    def get(self, key: Hashable) -> Snapshot | None:
        """The snapshot, whose time starts again."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        self.put(key, kept[0])
        return kept[0]

    def put(self, key: Hashable, snapshot: Snapshot) -> None:
        """Keep a snapshot, and drop the least recently used one if there are too many."""
        self.drop(key)
        self._kept[key] = snapshot, call_later(_SECONDS, self.drop, key)
        while len(self._kept) > _AT_ONCE:
            self.drop(next(iter(self._kept)))

    def drop(self, key: Hashable) -> None:
        """Drop a snapshot, if it is there."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            kept[1].cancel()

    def clear(self) -> None:
        """Drop all snapshots."""
        for key in list(self._kept):
            self.drop(key)
