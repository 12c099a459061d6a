"""Ends tasks that no worker started in the window of their schedule."""

from __future__ import annotations

import logging

import anyio
from sqlalchemy import or_, select

from sluicegate.api.errors import Unavailable
from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.failures import START_WINDOW_CLOSED
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.queue.transitions import move

log = logging.getLogger(__name__)

_INTERVAL = 15.0
_AT_ONCE = 200
_WAITING = ("RETRY_SCHEDULED", "SUBMITTED")


class ClosedWindows:
    """Ends tasks whose window has closed. Several processes can do so concurrently."""

    def __init__(self, store: Store, *, now: Now = NOW) -> None:
        self._store = store
        self._now = now

    async def run(self) -> None:
        """End such tasks until canceled."""
        while True:
            try:
                ended = await self.end()
            except Unavailable as error:
                log.warning("tasks cannot be ended now: %s", error.detail or error.message)
            else:
                if ended:
                    log.warning("%d tasks were not started in their window", ended)
            await anyio.sleep(_INTERVAL)

    async def end(self) -> int:
        """End all such tasks, and return their number."""
        total = 0
        while ended := await self._end_some():
            total += ended
        return total

    async def _end_some(self) -> int:
        # A task that runs can continue. If its worker is lost, it waits for another one.
        waits = or_(tasks.c.status.in_(_WAITING), tasks.c.due_at <= self._now)
        late = select(tasks).where(tasks.c.start_by <= self._now, waits).limit(_AT_ONCE)
        async with self._store.read() as connection:
            if (await connection.execute(late.limit(1))).first() is None:
                return 0
        async with self._store.append() as connection:
            locked = late.with_for_update(skip_locked=True)
            found = (await connection.execute(locked)).all()
            for row in found:
                await move(
                    connection,
                    TaskRecord.of(row),
                    "FAILURE",
                    self._now,
                    error_code=START_WINDOW_CLOSED,
                    result_summary="no worker started it before the window of its schedule closed",
                )
        return len(found)
