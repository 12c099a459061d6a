"""Waits for tasks to complete: one query for all waiting requests, whichever worker runs the tasks."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict

import anyio

from sluicegate.api.errors import Unavailable
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.tasks import TaskQueue

log = logging.getLogger(__name__)

_INTERVAL = 0.25
_AT_ONCE = 500


class Watcher:
    """Notifies waiting requests when their task has completed."""

    def __init__(self, queue: TaskQueue, *, interval: float = _INTERVAL) -> None:
        self._queue = queue
        self._interval = interval
        self._waiting: defaultdict[str, set[asyncio.Future[TaskRecord]]] = defaultdict(set)
        self._wanted = anyio.Event()
        self._is_blind = False

    async def wait(self, task: TaskRecord) -> TaskRecord:
        """Wait for a task to complete and return its record.

        Retries while the database is unavailable.
        """
        if task.ended:
            return task
        future: asyncio.Future[TaskRecord] = asyncio.get_running_loop().create_future()
        self._waiting[task.id].add(future)
        self._wanted.set()
        try:
            return await future
        finally:
            self._waiting[task.id].discard(future)
            if not self._waiting[task.id]:
                del self._waiting[task.id]

    async def run(self) -> None:
        """Query until canceled."""
        while True:
            await self._wanted.wait()
            await self._look()
            await anyio.sleep(self._interval)
            if not self._waiting:
                self._wanted = anyio.Event()

    async def _look(self) -> None:
        ids = list(self._waiting)
        try:
            for start in range(0, len(ids), _AT_ONCE):
                for task in await self._queue.ended(ids[start : start + _AT_ONCE]):
                    for future in self._waiting.get(task.id, ()):
                        if not future.done():
                            future.set_result(task)
            self._is_blind = False
        except Unavailable as error:
            if not self._is_blind:
                log.warning("cannot read which tasks have ended: %s", error.detail or error.message)
            self._is_blind = True
