"""Forgets tasks that ended long ago, with their histories."""

from __future__ import annotations

import logging

import anyio
from sqlalchemy import delete, select

from sluicegate.delegation.statements import Now
from sluicegate.delegation.states import ENDED
from sluicegate.errors import Unavailable
from sluicegate.store import Store
from sluicegate.store.clock import NOW
from sluicegate.store.tables import tasks

log = logging.getLogger(__name__)

_INTERVAL = 3600.0
# A transaction is short enough for others to write beside it, also on SQLite.
_AT_ONCE = 500


class Retention:
    """Deletes ended tasks after a time; several may do so at once.

    Args:
        store: Where tasks are.
        seconds: For how long they are kept after their end.
        now: The clock.
        at_once: Tasks of one transaction.
    """

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
        """Prune each hour, until cancelled."""
        while True:
            try:
                pruned = await self.prune()
            except Unavailable as error:
                log.warning("ended tasks are not pruned now: %s", error.detail or error.message)
            else:
                if pruned:
                    log.info("%d tasks that ended long ago were pruned", pruned)
            await anyio.sleep(_INTERVAL)

    async def prune(self) -> int:
        """Delete what has been kept for long enough; how many tasks.

        Raises:
            Unavailable: The database does not answer. What was deleted before stays deleted.
        """
        oldest = self._now - self._seconds * 1000
        pruned = 0
        while deleted := await self._prune_some(oldest):
            pruned += deleted
        return pruned

    async def _prune_some(self, oldest: Now) -> int:
        old = (
            select(tasks.c.id)
            # A task ends after it was received, and only that is indexed.
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
