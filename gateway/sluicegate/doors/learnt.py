"""What is known of the tables of a listing, without asking the catalogs for every table each time.

Where a table is, only its catalog knows, and asking may be slow or fail. Tables that a page shows are
asked for together, for `_PATIENCE` seconds at most, and what was learnt is remembered: a warm listing
looks it up in memory. While a source is down, what was known of its tables stays.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

from sluicegate.doors.resolve import Resolver
from sluicegate.errors import SluicegateError
from sluicegate.lru import LRU
from sluicegate.nouns import CatalogTable, SharedTable

_T = TypeVar("_T")

log = logging.getLogger(__name__)

_CAPACITY = 20_000  # tables
_AT_ONCE = 16  # of one catalog
# Seconds: how long a listing waits, what is remembered counts, and a source that failed is left alone.
_PATIENCE = 1.0
_MAX_AGE = 300.0
_RETRY_AFTER = 30.0


@dataclass(frozen=True, slots=True)
class _Learnt(Generic[_T]):
    """What is said of a table as it was shared then, and when to ask again."""

    table: SharedTable
    said: _T | None
    due_at: float


class LearntTables(Generic[_T]):
    """Remembers what follows from where tables are.

    Args:
        resolver: Asks the catalogs.
        judge: What follows, of a shared table and where its catalog says that it is.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        resolver: Resolver,
        judge: Callable[[SharedTable, CatalogTable], _T],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolver = resolver
        self._judge = judge
        self._clock = clock
        self._learnt: LRU[str, _Learnt[_T]] = LRU(_CAPACITY)

    async def learn(self, tables: Sequence[SharedTable]) -> None:
        """Find out what is not known of some tables, as far as that is quick; never fails."""
        now = self._clock()
        due = [table for table in tables if self._is_due(table, now)]
        if not due:
            return
        for table in due:  # meanwhile, and if nothing comes of it, what was known stays
            self._put(table, self.known(table), now + _RETRY_AFTER)
        by_catalog = defaultdict(list)  # one that hangs keeps no other one's tables waiting
        for table in due:
            by_catalog[table.catalog].append(table)
        with anyio.move_on_after(_PATIENCE):
            async with anyio.create_task_group() as asking:
                for its in by_catalog.values():
                    waiting = iter(its)
                    for _ in range(min(_AT_ONCE, len(its))):
                        asking.start_soon(self._ask_all, waiting)

    def known(self, table: SharedTable) -> _T | None:
        """What was learnt of a table; `None` where that is nothing yet."""
        learnt = self._find(table)
        return None if learnt is None else learnt.said

    def _is_due(self, table: SharedTable, now: float) -> bool:
        learnt = self._find(table)
        return learnt is None or now >= learnt.due_at

    def _find(self, table: SharedTable) -> _Learnt[_T] | None:
        learnt = self._learnt.get(table.id)
        if learnt is None or (learnt.table is not table and learnt.table != table):
            return None
        return learnt

    def _put(self, table: SharedTable, said: _T | None, due_at: float) -> None:
        self._learnt.put(table.id, _Learnt(table, said, due_at))

    async def _ask_all(self, waiting: Iterator[SharedTable]) -> None:
        for table in waiting:
            try:
                source = await self._resolver.locate(table)
            except SluicegateError as error:
                log.warning("the table %s is listed as it was known: %s", table.full_name, error)
            else:
                self._put(table, self._judge(table, source), self._clock() + _MAX_AGE)
