"""Sends the final state of tasks to a callback URL.

Source: Polaris delegation proposal, "Asynchronous w/ DS pushing".
"""

from __future__ import annotations

import logging

import anyio
import orjson
from sqlalchemy import select, update

from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.delegation import CallbackSettings
from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.rest.responses import record
from sluicegate.telemetry import linked_span

log = logging.getLogger(__name__)

_INTERVAL = 2.0
_TIMEOUT = 30.0
_AGAIN_MS = 60_000
_GIVEN_UP_MS = 86_400_000


class Callbacks:
    """Sends each completed task's record; retries every minute, for one day, until it is accepted."""

    def __init__(self, store: Store, settings: CallbackSettings, *, now: Now = NOW) -> None:
        self._store = store
        self._settings = settings
        self._now = now

    async def run(self) -> None:
        """Send callbacks until canceled."""
        while True:
            try:
                while await self.push_one():
                    pass
            except Unavailable as error:
                log.warning("no callback can be sent now: %s", error.detail or error.message)
            await anyio.sleep(_INTERVAL)

    async def push_one(self) -> bool:
        """Send the state of one task, if any is due."""
        task = await self._claim()
        if task is None:
            return False
        with linked_span("task.callback", task.trace_context, operation=task.operation) as current:
            is_accepted = await self._send(task)
            current.set_attribute("outcome", "accepted" if is_accepted else "failed")
        if is_accepted:
            done = update(tasks).where(tasks.c.id == task.id, tasks.c.version == task.version)
            async with self._store.append() as connection:
                await connection.execute(done.values(callback_due_at=None))
        return True

    async def _claim(self) -> TaskRecord | None:
        now = self._now
        is_late = tasks.c.status_changed_at <= now - _GIVEN_UP_MS
        query = (
            select(tasks, is_late.label("is_late"))
            .where(tasks.c.callback_due_at <= now)
            .order_by(tasks.c.callback_due_at)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        while True:
            async with self._store.append() as connection:
                row = (await connection.execute(query)).one_or_none()
                if row is None:
                    return None
                # Abandoned callbacks are no longer due; otherwise every query would return them.
                due = None if row.is_late else now + _AGAIN_MS
                claimed = update(tasks).where(tasks.c.id == row.id).values(callback_due_at=due)
                await connection.execute(claimed)
            if not row.is_late:
                return TaskRecord.of(row)

    async def _send(self, task: TaskRecord) -> bool:
        import aiohttp

        headers = {"Content-Type": "application/json"}
        if self._settings.token is not None:
            headers["Authorization"] = f"Bearer {self._settings.token.get_secret_value()}"
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(
                    self._settings.url,
                    data=orjson.dumps(record(task)),
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                taken = 200 <= response.status < 300
                told = f"status {response.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            taken, told = False, type(error).__name__
        if not taken:
            log.warning("task %s: its callback was not accepted: %s", task.id, told)
        return taken
