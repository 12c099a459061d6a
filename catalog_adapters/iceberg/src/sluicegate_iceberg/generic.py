"""Finds Delta tables among Polaris' generic tables. A listing lacks the format, so each is loaded.

A table that doesn't respond doesn't hide others, and is listed according to its last known format.
Formats are cached for a while, so that a warm listing loads no tables.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
from cachetools import LRUCache

from sluicegate.api import Unavailable
from sluicegate_iceberg.names import Levels, TableName
from sluicegate_iceberg.rest.client import IcebergClient
from sluicegate_iceberg.rest.refusal import Refused
from sluicegate_iceberg.rest.responses import GenericTable

log = logging.getLogger(__name__)

_DELTA: Final = "delta"
_REMEMBERED_TABLES: Final = 10_000
# Seconds for which a format is cached, and for which a table that didn't respond is not retried.
_BELIEVED: Final = 600.0
_RETRY_AFTER: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Known:
    """The known format of a table (`None`: not known yet), and when to load it again."""

    is_delta: bool | None
    due_at: float


class GenericTables:
    """The generic tables of one catalog."""

    def __init__(
        self,
        client: IcebergClient,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._patience = patience
        self._clock = clock
        self._known: LRUCache[TableName, _Known] = LRUCache(_REMEMBERED_TABLES)

    async def find(self, name: TableName) -> GenericTable | None:
        """Return a generic table; `None` if it doesn't exist, or the catalog has no generic tables."""
        try:
            return await self._client.load_generic(name)
        except Refused as refused:
            if refused.says_missing or refused.says_not_offered:
                return None
            raise

    async def delta_tables(self, namespace: Levels) -> list[str]:
        """Return names of the Delta tables in a namespace, as far as they are known."""
        try:
            names = await self._client.generic_tables(namespace)
        except Refused as refused:
            if refused.says_missing or refused.says_not_offered:
                return []
            raise
        tables = [TableName(namespace, name) for name in names]
        await self._learn([table for table in tables if self._is_due(table)])
        return [table.name for table in tables if self._was_delta(table)]

    def _is_due(self, table: TableName) -> bool:
        known = self._known.get(table)
        return known is None or self._clock() >= known.due_at

    def _was_delta(self, table: TableName) -> bool | None:
        known = self._known.get(table)
        return None if known is None else known.is_delta

    async def _learn(self, tables: Sequence[TableName]) -> None:
        for table in tables:  # if loading fails, the cached format remains
            self._known[table] = _Known(self._was_delta(table), self._clock() + _RETRY_AFTER)
        silent: dict[TableName, str | None] = dict.fromkeys(tables, "no response in time")
        with anyio.move_on_after(self._patience):
            async with anyio.create_task_group() as asking:
                for table in tables:
                    asking.start_soon(self._ask, table, silent)
        for table, reason in silent.items():
            listed = "listed according to its last known format"
            known = "not listed" if self._was_delta(table) is None else listed
            log.warning("the generic table %s is %s: %s", table, known, reason)

    async def _ask(self, table: TableName, silent: dict[TableName, str | None]) -> None:
        try:
            found = await self.find(table)
        except Unavailable as error:
            silent[table] = error.detail
            return
        self._known[table] = _Known(found is not None and is_delta(found), self._clock() + _BELIEVED)
        del silent[table]


def is_delta(table: GenericTable) -> bool:
    """Return whether a generic table is a Delta table."""
    return table.format.lower() == _DELTA
