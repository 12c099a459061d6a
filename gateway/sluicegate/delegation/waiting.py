"""Waits for tasks to end: one query for all who wait, whichever worker has their tasks."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict

import anyio

from sluicegate.delegation.queue import TaskQueue
from sluicegate.delegation.records import TaskRecord
from sluicegate.errors import Unavailable

log = logging.getLogger(__name__)

_INTERVAL = 0.25
_AT_ONCE = 500


class Watcher:
    """Tells who waits for a task that it has ended.

    Args:
        queue: The tasks.
        interval: Seconds between looks, while anybody waits.
    """

    def __init__(self, queue: TaskQueue, *, interval: float = _INTERVAL) -> None:
        self._queue = queue
        self._interval = interval
        self._waiting: defaultdict[str, set[asyncio.Future[TaskRecord]]] = defaultdict(set)
        self._wanted = anyio.Event()
        self._is_blind = False

    async def wait(self, task: TaskRecord) -> TaskRecord:
        """The record of a task that has ended, once it has; a database that is away is waited for."""
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
        """Look, until cancelled."""
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
                log.warning("cannot see which tasks have ended: %s", error.detail or error.message)
            self._is_blind = True
