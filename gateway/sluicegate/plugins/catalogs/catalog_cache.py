"""Caches what a catalog returns, with max-age and stale-while-revalidate (RFC 5861)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sluicegate._util.lru import LRU
from sluicegate._util.singleflight import SingleFlight
from sluicegate.api.errors import NotFound, SluicegateError, Unavailable

_T = TypeVar("_T")
Fetch = Callable[[], Coroutine[Any, Any, _T]]

log = logging.getLogger(__name__)

_ENTRIES = 10_000
# After a failure, the catalog is not queried for a moment: few requests wait for one that is down.
_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Entry(Generic[_T]):
    """A value, or `NotFound`, and when it was requested, from which its age is measured."""

    value: _T | NotFound
    requested_at: float


@dataclass(frozen=True, slots=True)
class _Failure:
    """The catalog failed, and is not queried again until then."""

    error: Unavailable
    until: float


class CatalogCache(Generic[_T]):
    """Caches the responses of a catalog to one kind of request.

    An entry is returned for `max_age`. For `stale` after that it is still returned, while it is
    refreshed in the background. Older entries are never returned. Concurrent requests for one key are
    sent once. `NotFound` is cached for `max_age`, and a failure for a moment, but at most for
    `max_age`.
    """

    def __init__(
        self,
        max_age: float,
        stale: float,
        clock: Callable[[], float],
        may_be_stale: Callable[[_T], bool] = lambda _: True,
        dated: Callable[[_T], float] | None = None,
    ) -> None:
        self._max_age = max_age
        self._stale = stale
        self._retry_after = min(_RETRY_SECONDS, max_age)
        self._clock = clock
        self._may_be_stale = may_be_stale
        self._dated = dated
        self._entries: LRU[Hashable, _Entry[_T]] = LRU(_ENTRIES)
        self._failures: LRU[Hashable, _Failure] = LRU(_ENTRIES)
        self._flights: SingleFlight[_T] = SingleFlight()

    async def get(self, key: Hashable, fetch: Fetch[_T]) -> _T:
        """The cached value, or a new one."""
        now = self._clock()
        entry = self._entries.get(key)
        failure = self._failures.get(key)
        failed = failure is not None and now < failure.until
        if entry and now - entry.requested_at < self._max_age:
            return _value(entry)
        if entry and self._can_be_stale(entry, now):
            if not failed:
                self._flights.start(key, lambda: self._refresh(key, fetch))
            return _value(entry)
        if failure and failed:
            raise Unavailable(failure.error.message, detail=failure.error.detail)
        return await self._flights.run(key, lambda: self._fetch(key, fetch))

    async def aclose(self) -> None:
        """Cancel the requests that are running."""
        await self._flights.aclose()

    def _can_be_stale(self, entry: _Entry[_T], now: float) -> bool:
        return (
            now - entry.requested_at < self._max_age + self._stale
            and not isinstance(entry.value, NotFound)
            and self._may_be_stale(entry.value)
        )

    async def _fetch(self, key: Hashable, fetch: Fetch[_T]) -> _T:
        requested_at = self._clock()
        try:
            value = await fetch()
        except NotFound as missing:
            self._entries.put(key, _Entry(missing, requested_at))
            raise
        except Unavailable as error:
            self._failures.put(key, _Failure(error, self._clock() + self._retry_after))
            raise
        self._entries.put(key, _Entry(value, self._dated(value) if self._dated else requested_at))
        return value

    async def _refresh(self, key: Hashable, fetch: Fetch[_T]) -> _T:
        try:
            return await self._fetch(key, fetch)
        except SluicegateError as error:
            log.warning("the cached response stays in use for now: %s", error.for_operators)
            raise


def _value(entry: _Entry[_T]) -> _T:
    if isinstance(entry.value, NotFound):
        raise NotFound(entry.value.message, detail=entry.value.detail)
    return entry.value
