"""Which of Polaris' generic tables are Delta tables: their list does not tell, so each is asked for.

A table that does not answer hides no other one, and is listed as it was known. What was learnt is
believed for a while, so that a warm listing asks for no table.
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
from sluicegate_iceberg.answers import GenericTable
from sluicegate_iceberg.client import IcebergClient
from sluicegate_iceberg.names import Levels, TableName
from sluicegate_iceberg.refusal import Refused

log = logging.getLogger(__name__)

_DELTA: Final = "delta"
_REMEMBERED_TABLES: Final = 10_000
# Seconds that an answer is believed, and that a table which did not answer is left alone.
_BELIEVED: Final = 600.0
_RETRY_AFTER: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Known:
    """What was learnt of a table (`None`: nothing yet), and when to ask again."""

    is_delta: bool | None
    due_at: float


class GenericTables:
    """The generic tables of one catalog.

    Args:
        client: Asks the catalog.
        patience: Seconds that a listing waits for what its tables are.
        clock: Seconds, monotonic.
    """

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
        """A generic table; `None` where there is none, or the catalog knows none at all.

        Raises:
            Unavailable: The catalog does not answer.
        """
        try:
            return await self._client.load_generic(name)
        except Refused as refused:
            if refused.says_missing or refused.says_not_offered:
                return None
            raise

    async def delta_tables(self, namespace: Levels) -> list[str]:
        """Names of the Delta tables in a namespace, as far as they are known.

        Raises:
            Unavailable: The catalog does not answer which generic tables there are.
        """
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
        for table in tables:  # if nothing comes of it, what was known stays
            self._known[table] = _Known(self._was_delta(table), self._clock() + _RETRY_AFTER)
        silent: dict[TableName, str | None] = dict.fromkeys(tables, "no answer in time")
        with anyio.move_on_after(self._patience):
            async with anyio.create_task_group() as asking:
                for table in tables:
                    asking.start_soon(self._ask, table, silent)
        for table, reason in silent.items():
            known = "not listed" if self._was_delta(table) is None else "listed as it was known"
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
    """Whether a generic table is a Delta table."""
    return table.format.lower() == _DELTA
