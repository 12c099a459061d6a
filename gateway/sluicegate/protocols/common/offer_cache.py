"""Caches what listings show about tables, so that they don't query the catalogs for every table.

Only its catalog knows where a table is, and the lookup can be slow or fail. The tables of a page are
looked up together, in the background. A listing waits `_TIMEOUT` seconds for these and for lookups
that an earlier listing started. It waits longer while responses arrive, because clients rely on what a
listing shows about a table. Results are cached, so a warm listing needs no lookup. While a source is
down, its cached results remain in use.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio.lowlevel

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate._util.lru import LRU
from sluicegate.api.errors import SluicegateError
from sluicegate.api.models import CatalogTable, SharedTable
from sluicegate.protocols.common.resolver import Resolver

_T = TypeVar("_T")

log = logging.getLogger(__name__)

_CAPACITY = 20_000  # tables
_AT_ONCE = 16  # of one catalog
# Seconds that a listing waits, that a result is valid, and after which a failed lookup is repeated. If
# nothing is known about the table, that is soon, because listings may omit it until then.
_TIMEOUT = 1.0
_MOST_WAITS = 10
_MAX_AGE = 300.0
_RETRY_AFTER = 30.0
_RETRY_UNKNOWN_AFTER = 5.0


@dataclass(frozen=True, slots=True)
class _Entry(Generic[_T]):
    """The result for a table as it was shared at the time, and when to look it up again."""

    table: SharedTable
    value: _T | None
    due_at: float


@dataclass
class _Queue:
    """The tables of one catalog that are waiting for their lookup, and the tasks that do it."""

    tables: deque[tuple[SharedTable, asyncio.Future[None]]] = field(default_factory=deque)
    workers: set[asyncio.Task[None]] = field(default_factory=set)


class OfferCache(Generic[_T]):
    """Caches results that depend on where tables are."""

    def __init__(
        self,
        resolver: Resolver,
        compute: Callable[[SharedTable, CatalogTable], _T],
        background: BackgroundJobs,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolver = resolver
        self._compute = compute
        self._background = background
        self._clock = clock
        self._entries: LRU[str, _Entry[_T]] = LRU(_CAPACITY)
        self._requested: dict[str, tuple[SharedTable, asyncio.Future[None]]] = {}
        self._queues: defaultdict[str, _Queue] = defaultdict(_Queue)

    async def prefetch(self, tables: Sequence[SharedTable]) -> None:
        """Look up tables that are not cached, as far as that is quick. Never fails.

        The rest is looked up in the background. The next listing waits for it while responses arrive.
        """
        now = self._clock()
        due = [table for table in tables if self._is_due(table, now)]
        if not due:
            return
        earlier = {found for table in due if (found := self._pending_lookup(table)) is not None}
        for table in due:
            if self._pending_lookup(table) is None:
                self._request(table)
        unknown = {
            found
            for table in due
            if (found := self._pending_lookup(table)) is not None and self.get(table) is None
        }
        await anyio.lowlevel.checkpoint()  # refreshes only start; nothing waits for them
        if unknown:
            await _wait(unknown, earlier)

    def get(self, table: SharedTable) -> _T | None:
        """The cached result for a table, or `None` if there is none yet."""
        entry = self._find(table)
        return None if entry is None else entry.value

    def _is_due(self, table: SharedTable, now: float) -> bool:
        entry = self._find(table)
        return entry is None or now >= entry.due_at

    def _find(self, table: SharedTable) -> _Entry[_T] | None:
        entry = self._entries.get(table.id)
        if entry is None or (entry.table is not table and entry.table != table):
            return None
        return entry

    def _pending_lookup(self, table: SharedTable) -> asyncio.Future[None] | None:
        requested, found = self._requested.get(table.id, (None, None))
        return found if requested == table else None

    def _request(self, table: SharedTable) -> None:
        """Queue a table for the background lookup, unless too many are waiting already."""
        if len(self._requested) >= _CAPACITY:
            return
        found: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requested[table.id] = table, found
        queue = self._queues[table.catalog]  # a catalog that hangs does not delay the tables of others
        queue.tables.append((table, found))
        if len(queue.workers) < _AT_ONCE:
            worker = self._background.start(self._work(queue))
            queue.workers.add(worker)
            worker.add_done_callback(queue.workers.discard)

    async def _work(self, queue: _Queue) -> None:
        """Look up the tables of one catalog. It ends when its catalog is closed."""
        while queue.tables:
            table, found = queue.tables.popleft()
            try:
                await self._look_up(table)
            finally:
                # If the share has changed meanwhile, the id belongs to a later lookup.
                if self._pending_lookup(table) is found:
                    del self._requested[table.id]
                found.set_result(None)

    async def _look_up(self, table: SharedTable) -> None:
        try:
            source = await self._resolver.locate(table)
            value = self._compute(table, source)
        except SluicegateError as error:
            log.warning("the table %s is listed with cached information: %s", table.full_name, error)
        except Exception:
            log.exception("the table %s is listed with cached information", table.full_name)
        else:
            self._put(table, value, self._clock() + _MAX_AGE)
            return
        known = self.get(table)
        retry_after = _RETRY_UNKNOWN_AFTER if known is None else _RETRY_AFTER
        self._put(table, known, self._clock() + retry_after)

    def _put(self, table: SharedTable, value: _T | None, due_at: float) -> None:
        self._entries.put(table.id, _Entry(table, value, due_at))


async def _wait(unknown: set[asyncio.Future[None]], earlier: set[asyncio.Future[None]]) -> None:
    """Wait briefly for all, and for those of an earlier listing while responses arrive."""
    _, waiting = await asyncio.wait(unknown, timeout=_TIMEOUT)
    late = waiting & earlier
    for _ in range(_MOST_WAITS):
        if not late:
            return
        done, late = await asyncio.wait(late, timeout=_TIMEOUT)
        if not done:
            return
