"""Caches reads of the database until a kind of rows changes that they depend on.

A cached read is a dictionary lookup. The revisions are read at most once in `max_age` seconds, so that
changes by other processes take effect within that time, and at once after a change by this process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from sluicegate._util.lru import LRU
from sluicegate.api.errors import Unavailable
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.revisions import KINDS, RevisionKind, Revisions, read_revisions

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

# Seconds: timeout for reading the revision, and delay before the next attempt after a failure.
_CHECK_TIMEOUT = 2.0
_RETRY_AFTER = 3.0


class Freshness:
    """Tracks the revisions of the database, and clears the caches that depend on what has changed."""

    def __init__(
        self,
        store: Store,
        *,
        max_age: float,
        max_stale: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self._max_age = max_age
        self._max_stale = max_stale
        self._clock = clock
        self._dependents: list[tuple[Callable[[], None], Collection[RevisionKind]]] = []
        self._revisions: Revisions | None = None
        self._writes = -1
        self._check_at = self._usable_until = float("-inf")
        self._checking = asyncio.Lock()

    def on_change(self, forget: Callable[[], None], kinds: Collection[RevisionKind] = KINDS) -> None:
        """Register a function to call when one of some kinds of rows has changed."""
        self._dependents.append((forget, kinds))

    async def ensure(self) -> None:
        """Check that cached values can be served."""
        now = self._clock()
        if self._is_due(now):
            async with self._checking:
                # Compares the time of arrival: a check that started later is recent enough, even if it
                # was slow. With the current time, each waiting request would start its own check.
                if self._is_due(now):
                    await self._check()
        if now >= self._usable_until and self._clock() >= self._usable_until:
            raise Unavailable("the gateway's database does not respond; try again later")

    def accepts(self, revisions: Revisions, kinds: Collection[RevisionKind]) -> bool:
        """Whether values that were read at some revisions are current. Newer ones clear the caches."""
        if self._revisions is None or revisions.value > self._revisions.value:
            self._adopt(revisions)
        known = self._revisions
        assert known is not None  # noqa: S101 # was adopted at the latest now
        return revisions.unattributed == known.unattributed and all(
            revisions.kinds[kind] == known.kinds[kind] for kind in kinds
        )

    def _is_due(self, now: float) -> bool:
        return now >= self._check_at or self._writes != self.store.writes

    async def _check(self) -> None:
        started = self._clock()
        self._writes = self.store.writes
        try:
            revisions = await self.store.revisions(timeout=_CHECK_TIMEOUT)
        except Unavailable:
            # Until then, requests use the cache or fail, without another attempt for each of them.
            self._check_at = self._clock() + _RETRY_AFTER
            return
        self._check_at = started + self._max_age
        self._usable_until = started + self._max_stale
        self._adopt(revisions)

    def _adopt(self, revisions: Revisions) -> None:
        changed = revisions.changed(self._revisions)
        self._revisions = revisions
        for forget, kinds in self._dependents:
            if not set(kinds).isdisjoint(changed):
                forget()


class CachedReads(Generic[_Key, _Value]):
    """A cache for one kind of read, by key. Concurrent reads of a key query the database once."""

    def __init__(
        self,
        freshness: Freshness,
        kinds: Collection[RevisionKind],
        capacity: int,
        weigh: Callable[[_Value], int] = lambda _: 1,
    ) -> None:
        self._freshness = freshness
        self._kinds = kinds
        self._entries: LRU[_Key, _Value] = LRU(capacity, weigh)
        self._loading: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()
        freshness.on_change(self._entries.clear, kinds)

    async def get(
        self, key: _Key, load: Callable[[AsyncConnection], Awaitable[_Value | None]]
    ) -> _Value | None:
        """Return the cached value, or else load it. `None` (the row does not exist) is not cached."""
        await self._freshness.ensure()
        found = self._entries.get(key)
        if found is not None:
            return found
        async with self._loading.setdefault(key, asyncio.Lock()):
            found = self._entries.get(key)
            return found if found is not None else await self._load(key, load)

    async def cached(self, key: _Key) -> _Value | None:
        """Return the cached value, or `None`."""
        await self._freshness.ensure()
        return self._entries.get(key)

    async def _load(
        self, key: _Key, load: Callable[[AsyncConnection], Awaitable[_Value | None]]
    ) -> _Value | None:
        async with self._freshness.store.read() as connection:
            revisions = await read_revisions(connection)
            value = await load(connection)
        if value is not None and self._freshness.accepts(revisions, self._kinds):
            self._entries.put(key, value)
        return value
