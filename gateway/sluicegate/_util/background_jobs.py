"""Jobs that no request waits for, and that must end before the resources they use are closed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from sluicegate._util.tasks import cancel_all

_T = TypeVar("_T")


class BackgroundJobs:
    """Runs jobs as tasks until they are done, or until `aclose`.

    Without an owner, a job would still use the database and the catalogs while the gateway closes them.
    """

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    def start(self, job: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Start a job. After `aclose`, its task is cancelled at once."""
        task = asyncio.create_task(job)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        if self._closed:
            task.cancel()
        return task

    async def aclose(self) -> None:
        """Cancel all running jobs, and wait until they have ended."""
        self._closed = True
        await cancel_all(*self._running)
