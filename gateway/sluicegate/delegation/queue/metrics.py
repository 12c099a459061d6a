"""Measures the queue: number of due tasks, and how long the oldest has been waiting."""

from __future__ import annotations

import logging
from collections.abc import Collection

import anyio
from sqlalchemy import func, select

from sluicegate.api.errors import Unavailable
from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.statements import Now
from sluicegate.telemetry import metrics

log = logging.getLogger(__name__)

_INTERVAL = 15.0


class QueueGauges:
    """Sets the gauges of the queue, if metrics are enabled."""

    def __init__(self, store: Store, operations: Collection[str], *, now: Now = NOW) -> None:
        self._store = store
        self._operations = operations
        self._now = now

    async def run(self) -> None:
        """Measure until canceled."""
        while True:
            if metrics.instruments() is not None:
                try:
                    await self.measure()
                except Unavailable as error:
                    log.warning("the queue is not measured: %s", error.detail or error.message)
            await anyio.sleep(_INTERVAL)

    async def measure(self) -> None:
        """Set the gauges once."""
        age = self._now - func.min(tasks.c.due_at)
        query = (
            select(tasks.c.operation, func.count(), age)
            .where(tasks.c.due_at <= self._now, tasks.c.operation.in_(self._operations))
            .group_by(tasks.c.operation)
        )
        async with self._store.read() as connection:
            due = {name: (count, oldest) for name, count, oldest in await connection.execute(query)}
        for operation in self._operations:
            count, oldest = due.get(operation, (0, 0))
            metrics.gauge("sluicegate.tasks.waiting", count, operation=operation)
            metrics.gauge("sluicegate.tasks.oldest", oldest / 1000, operation=operation)
