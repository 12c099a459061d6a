"""What a listing says about directory access, without asking the catalogs for every table each time.

Where a table is, only its catalog knows, and asking may be slow or fail. Tables that are shared by
`url` alone, as most are, need no answer: absent `accessModes` means `url`. Of the others, those that a
page shows are asked for together, for `_PATIENCE` seconds at most, and what was learnt is remembered:
a warm listing looks it up in memory. While a source is down, its tables are listed as they were known,
or without `accessModes`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from sluicegate.api import SharedTable, SluicegateError
from sluicegate.lru import LRU
from sluicegate.sharing import listing
from sluicegate.sharing.directory import DirectoryAccess
from sluicegate.sharing.resolve import Resolver

log = logging.getLogger(__name__)

_CAPACITY = 20_000  # tables
_AT_ONCE = 16
# Seconds: how long a listing waits, what is remembered counts, and a source that failed is left alone.
_PATIENCE = 1.0
_MAX_AGE = 300.0
_RETRY_AFTER = 30.0


@dataclass(frozen=True, slots=True)
class _Learnt:
    """What is said of a table as it was shared then, and when to ask again."""

    table: SharedTable
    members: dict[str, Any]
    due_at: float


class ListedOffers:
    """Shows tables with the offers that are known.

    Args:
        resolver: Asks the catalogs.
        access: Decides what is offered.
        clock: Monotonic seconds.
    """

    def __init__(
        self, resolver: Resolver, access: DirectoryAccess, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._resolver = resolver
        self._access = access
        self._clock = clock
        self._learnt: LRU[str, _Learnt] = LRU(_CAPACITY)

    async def learn(self, tables: Sequence[SharedTable]) -> None:
        """Find out what is not known of some tables, as far as that is quick; never fails."""
        now = self._clock()
        due = [table for table in tables if "dir" in table.access_modes and self._is_due(table, now)]
        if not due:
            return
        for table in due:  # meanwhile, and if nothing comes of it, what was known stays
            self._put(table, self._members(table), now + _RETRY_AFTER)
        waiting = iter(due)
        with anyio.move_on_after(_PATIENCE):
            async with anyio.create_task_group() as asking:
                for _ in range(min(_AT_ONCE, len(due))):
                    asking.start_soon(self._ask_all, waiting)

    def show(self, table: SharedTable) -> dict[str, Any]:
        """The table as listings show it ("List Tables in a Schema")."""
        shown = listing.table(table)
        return shown | self._members(table) if "dir" in table.access_modes else shown

    def _members(self, table: SharedTable) -> dict[str, Any]:
        learnt = self._known(table)
        return {} if learnt is None else learnt.members

    def _is_due(self, table: SharedTable, now: float) -> bool:
        learnt = self._known(table)
        return learnt is None or now >= learnt.due_at

    def _known(self, table: SharedTable) -> _Learnt | None:
        learnt = self._learnt.get(table.id)
        if learnt is None or (learnt.table is not table and learnt.table != table):
            return None
        return learnt

    def _put(self, table: SharedTable, members: dict[str, Any], due_at: float) -> None:
        self._learnt.put(table.id, _Learnt(table, members, due_at))

    async def _ask_all(self, waiting: Iterator[SharedTable]) -> None:
        for table in waiting:
            try:
                source = await self._resolver.locate(table)
            except SluicegateError as error:
                log.warning("the access modes of %s are not listed: %s", table.full_name, error)
            else:
                members = self._access.offer(table, source).members()
                self._put(table, members, self._clock() + _MAX_AGE)
