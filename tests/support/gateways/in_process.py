"""A gateway in this process, asked without sockets: as uvicorn would ask it, but for any bytes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from starlette.types import ASGIApp
from support.clients.asgi import Answer, HeaderList, Request, exchange

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate_testing.secrets import keep_written

__all__ = ["Answer", "HeaderList", "InProcessGateway", "Request", "in_process_gateway"]

TIMEOUT_SECONDS = 60
T = TypeVar("T")


class InProcessGateway:
    """Sends requests to an application that runs on another thread's event loop."""

    def __init__(self, gateway: Gateway, loop: asyncio.AbstractEventLoop) -> None:
        self.gateway = gateway
        self.sent = 0
        self._app: ASGIApp = gateway.asgi()
        self.loop = loop

    def send(self, request: Request) -> Answer:
        """The answer; an exception of the application comes out here."""
        answering = asyncio.run_coroutine_threadsafe(exchange(self._app, request), self.loop)
        answer = answering.result(TIMEOUT_SECONDS)
        self.sent += 1
        if answer.status >= 400:
            keep_written("errors", answer.body)
        return answer

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What work on the gateway's event loop gives."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(TIMEOUT_SECONDS)


@contextmanager
def in_process_gateway(settings: Settings) -> Iterator[InProcessGateway]:
    """A running gateway, until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    running = Gateway.running(settings)
    try:
        gateway = asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result(TIMEOUT_SECONDS)
        try:
            yield InProcessGateway(gateway, loop)
        finally:
            closing = running.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(closing, loop).result(TIMEOUT_SECONDS)
        left = asyncio.run_coroutine_threadsafe(_others(), loop).result(TIMEOUT_SECONDS)
        assert not left, f"the gateway closed, but these tasks still run: {left}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _others() -> list[asyncio.Task[Any]]:
    await asyncio.sleep(0)
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
