"""Deletes old firings of schedules."""

from __future__ import annotations

from sqlalchemy import delete, exists, select

from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import schedule_firings as firings
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.statements import Now


class FiringRetention:
    """Deletes firings after a time. Several processes can do so concurrently."""

    def __init__(self, store: Store, seconds: int, *, now: Now = NOW) -> None:
        self._store = store
        self._seconds = seconds
        self._now = now

    async def prune(self) -> None:
        """Delete old firings without tasks, except the last one of each schedule.

        The last one is the time until which all times are settled.
        """
        later = firings.alias("later")
        has_later = exists().where(
            later.c.schedule == firings.c.schedule,
            later.c.requested_by.is_(None),
            later.c.fires_at > firings.c.fires_at,
        )
        has_tasks = exists().where(tasks.c.firing_id == firings.c.id)
        is_old = firings.c.opened_at < self._now - self._seconds * 1000
        has_ended = firings.c.status != "SUBMITTING"
        query = select(firings.c.id).where(is_old, has_ended, has_later, ~has_tasks)
        async with self._store.read() as connection:
            if (await connection.execute(query.limit(1))).first() is None:
                return
        async with self._store.append() as connection:
            await connection.execute(delete(firings).where(firings.c.id.in_(query)))
