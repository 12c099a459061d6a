"""One gateway for each version of the configuration, and the application that switches between them."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from starlette.types import Receive, Scope, Send

from sluicegate._util.memory import collect_all
from sluicegate._util.tasks import cancel_all
from sluicegate._util.timers import call_later
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.http.ended_requests import EndableRequests

log = logging.getLogger(__name__)

_LEEWAY = 15.0  # seconds after which connections that were idle for too long are certainly closed


class Generation:
    """A gateway with one version of the configuration, and its ASGI application.

    A dedicated task opens and closes the gateway, because the lifespans of plugins can contain cancel
    scopes, which must be left by the task that entered them.

    Attributes:
        most_idle_seconds: How long connections can stay open between two requests.
    """

    def __init__(self, settings: Settings) -> None:
        self.most_idle_seconds = settings.server.keep_alive_timeout
        self._grace = settings.server.shutdown_grace_period
        self._opened: asyncio.Future[Gateway] = asyncio.get_running_loop().create_future()
        self._retired = asyncio.Event()
        self._requests = EndableRequests()
        self._task = asyncio.create_task(self._run(settings))

    @classmethod
    async def open(cls, settings: Settings) -> Generation:
        """Open a gateway."""
        generation = cls(settings)
        opening = generation._task
        try:
            await asyncio.wait((opening, generation._opened), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await cancel_all(opening)
            raise
        if opening.done():
            opening.result()  # raises the reason
        return generation

    @property
    def gateway(self) -> Gateway:
        """The gateway."""
        return self._opened.result()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request with this gateway, which stays open meanwhile."""
        await self._requests.serve(self._app, scope, receive, send)

    async def aclose(self) -> None:
        """Let the requests in progress complete for `shutdown_grace_period`, and close the gateway."""
        self._retired.set()
        await self._task

    async def _run(self, settings: Settings) -> None:
        async with Gateway.running(settings) as gateway:
            self._app = gateway.asgi()
            self._opened.set_result(gateway)
            await self._retired.wait()
            if ended := await self._requests.end(self._grace):
                log.warning("%d requests with the previous configuration were ended", ended)


class Generations:
    """The application that serves each request with the current gateway."""

    def __init__(self, first: Generation) -> None:
        self.current = first
        self._closing: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        await self.current(scope, receive, send)

    def switch_to(self, successor: Generation) -> None:
        """Serve new requests with another gateway. The previous one completes its own, and closes."""
        before, self.current = self.current, successor
        closing = asyncio.create_task(before.aclose())
        self._closing.add(closing)
        closing.add_done_callback(partial(self._closed, before.most_idle_seconds))

    async def aclose(self) -> None:
        """Close all gateways."""
        await asyncio.gather(*self._closing, return_exceptions=True)
        await self.current.aclose()

    def _closed(self, most_idle_seconds: float, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the previous gateway was not closed completely: %s", type(error).__name__)
        self._collect()
        # Until they close, idle connections refer to their last request, and so to its gateway.
        call_later(most_idle_seconds + _LEEWAY, self._collect)

    def _collect(self) -> None:
        """Free closed gateways, whose parts refer to each other. The first one is never scanned."""
        collect_all()
