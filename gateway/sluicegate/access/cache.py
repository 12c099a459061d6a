"""Reads of the database, cached until its revision changes.

A warm read is a dictionary look-up. The revision is asked for at most once in `max_age` seconds, so
what another process writes is seen within that time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.errors import Unavailable
from sluicegate.lru import LRU
from sluicegate.store import Store
from sluicegate.store.engine import read_revision

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

# Seconds: how long the revision may take, and how soon a database that failed is asked again.
_CHECK_TIMEOUT = 2.0
_RETRY_AFTER = 3.0


class Freshness:
    """Knows the database's revision, and tells caches to forget when it changes.

    Args:
        max_age: Seconds for which the known revision is believed.
        max_stale: Seconds for which cached reads outlive a database that does not answer.
        clock: Monotonic seconds.
    """

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
        self._dependents: list[Callable[[], None]] = []
        self._revision = -1
        self._check_at = self._usable_until = float("-inf")
        self._checking = asyncio.Lock()

    def on_change(self, forget: Callable[[], None]) -> None:
        """Call `forget` when the revision changes."""
        self._dependents.append(forget)

    async def ensure(self) -> None:
        """Make sure that what is cached may be served.

        Raises:
            Unavailable: The database has not answered for `max_stale` seconds.
        """
        now = self._clock()
        if now >= self._check_at:
            async with self._checking:
                # By the time of arrival: a check that began later is young enough, however long it
                # took. By the clock, each of many waiting requests would make a check of its own.
                if now >= self._check_at:
                    await self._check()
        if now >= self._usable_until and self._clock() >= self._usable_until:
            raise Unavailable("the gateway's database does not answer; try again later")

    def accepts(self, revision: int) -> bool:
        """Whether what was read at a revision is still current; a newer one empties the caches."""
        if revision > self._revision:
            self._adopt(revision)
        return revision == self._revision

    async def _check(self) -> None:
        started = self._clock()
        try:
            revision = await self.store.revision(timeout=_CHECK_TIMEOUT)
        except Unavailable:
            # Requests meanwhile are served from the cache, or refused, without another attempt each.
            self._check_at = self._clock() + _RETRY_AFTER
            return
        self._check_at = started + self._max_age
        self._usable_until = started + self._max_stale
        if revision != self._revision:
            self._adopt(revision)

    def _adopt(self, revision: int) -> None:
        self._revision = revision
        for forget in self._dependents:
            forget()


class CachedReads(Generic[_Key, _Value]):
    """One kind of read, cached by key; concurrent reads of one key ask the database once.

    Args:
        capacity: Largest total weight of what is kept.
        weigh: Weight of a value.
    """

    def __init__(
        self, freshness: Freshness, capacity: int, weigh: Callable[[_Value], int] = lambda _: 1
    ) -> None:
        self._freshness = freshness
        self._entries: LRU[_Key, _Value] = LRU(capacity, weigh)
        self._loading: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()
        freshness.on_change(self._entries.clear)

    async def get(
        self, key: _Key, load: Callable[[AsyncConnection], Awaitable[_Value | None]]
    ) -> _Value | None:
        """The cached value, or what `load` reads; `None`, for what is not there, is not kept.

        Raises:
            Unavailable: The database does not answer, and nothing that may still be served is cached.
        """
        await self._freshness.ensure()
        found = self._entries.get(key)
        if found is not None:
            return found
        async with self._loading.setdefault(key, asyncio.Lock()):
            found = self._entries.get(key)
            return found if found is not None else await self._load(key, load)

    async def _load(
        self, key: _Key, load: Callable[[AsyncConnection], Awaitable[_Value | None]]
    ) -> _Value | None:
        async with self._freshness.store.read() as connection:
            revision = await read_revision(connection)
            value = await load(connection)
        if value is not None and self._freshness.accepts(revision):
            self._entries.put(key, value)
        return value
