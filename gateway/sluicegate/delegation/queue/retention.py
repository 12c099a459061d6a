"""Deletes tasks that completed long ago, with their histories."""

from __future__ import annotations

import logging

import anyio
from sqlalchemy import delete, select

from sluicegate.api.errors import Unavailable
from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.records import ENDED
from sluicegate.delegation.queue.statements import Now

log = logging.getLogger(__name__)

_INTERVAL = 3600.0
# Small transactions let others write in between, also on SQLite.
_AT_ONCE = 500


class Retention:
    """Deletes completed tasks after a time. Several processes can do so concurrently."""

    def __init__(
        self,
        store: Store,
        seconds: int,
        *,
        now: Now = NOW,
        at_once: int = _AT_ONCE,
    ) -> None:
        self._store = store
        self._seconds = seconds
        self._now = now
        self._at_once = at_once

    async def run(self) -> None:
        """Prune every hour, until canceled."""
        while True:
            try:
                pruned = await self.prune()
            except Unavailable as error:
                log.warning("completed tasks cannot be deleted now: %s", error.detail or error.message)
            else:
                if pruned:
                    log.info("%d old completed tasks were deleted", pruned)
            await anyio.sleep(_INTERVAL)

    async def prune(self) -> int:
        """Delete tasks that have been kept long enough, and return their number."""
        oldest = self._now - self._seconds * 1000
        pruned = 0
        while deleted := await self._prune_some(oldest):
            pruned += deleted
        return pruned

    async def _prune_some(self, oldest: Now) -> int:
        old = (
            select(tasks.c.id)
            # A task ends after it was received, and only the time of receipt is indexed.
            .where(tasks.c.received_at < oldest, tasks.c.status_changed_at < oldest)
            .where(tasks.c.status.in_(ENDED))
            .order_by(tasks.c.received_at)
            .limit(self._at_once)
            .with_for_update(skip_locked=True)
        )
        async with self._store.append() as connection:
            ids = (await connection.execute(old)).scalars().all()
            if ids:
                await connection.execute(delete(tasks).where(tasks.c.id.in_(ids)))
        return len(ids)
