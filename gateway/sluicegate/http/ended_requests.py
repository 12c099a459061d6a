"""Requests that the gateway ends, because it must close: they get 503."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from sluicegate._util.tasks import cancel_all
from sluicegate.api.errors import Unavailable

_SCOPE_KEY = "sluicegate.ended_requests"


class EndableRequests:
    """The requests in progress of one application."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ended: set[asyncio.Task[Any]] = set()

    async def serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, which `end` can end."""
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._tasks.add(task)
        # Starlette adds the application to it, and idle connections keep the one of their last request.
        own = {**scope, _SCOPE_KEY: self}
        try:
            await app(own, receive, send)
        finally:
            self._tasks.discard(task)
            self._ended.discard(task)

    async def end(self, grace: float) -> int:
        """Wait for the requests, end those that take longer, and return their number."""
        if not self._tasks:
            return 0
        _, running = await asyncio.wait(set(self._tasks), timeout=grace)
        self._ended |= running
        await cancel_all(*running)
        return len(running)

    def has_ended(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task was canceled by `end`."""
        return task in self._ended


def resume_ended(scope: Scope) -> bool:
    """Whether `end` has canceled the current request. If so, it continues, and can send a response."""
    requests: EndableRequests | None = scope.get(_SCOPE_KEY)
    task = asyncio.current_task()
    if requests is None or task is None or not requests.has_ended(task):
        return False
    task.uncancel()
    return True


def ended_request() -> Unavailable:
    """The error that a client gets instead of the response."""
    return Unavailable(
        "the request was ended, because the gateway's configuration has changed; try again",
        detail="it took longer than server.shutdown_grace_period",
    )
