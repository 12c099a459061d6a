"""Runs the gateway: reports readiness once queries have nothing to load, and stops gracefully."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, nullcontext
from functools import partial

from sluicegate._util.service_manager import notify_stopping
from sluicegate._util.tasks import cancel_all
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.config.served_address import announced, served_at
from sluicegate.http.serving import Tls, address_of, bind, serve_app
from sluicegate.http.shared_listener import ListenerShare
from sluicegate.server.generation import Generation, Generations
from sluicegate.server.reloader import Reloader
from sluicegate.telemetry import config_applied


async def _begin_at_once(address: str) -> None:
    pass


async def serve_gateway(
    settings: Settings,
    *,
    on_ready: Callable[[str], None] = lambda address: None,
    stop: asyncio.Event | None = None,
    load: Callable[[], Settings] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. Then, running responses have `shutdown_grace_period` to complete.

    Connections are accepted before the gateway is ready, so that liveness checks succeed.

    Args:
        load: Reads the settings again, at SIGHUP or as `server.reload` says. By default, the settings
            don't change.
    """
    with bind(settings.server.host, settings.server.port) as listener:
        await serve_on(listener, settings, on_ready=on_ready, stop=stop, load=load)


async def serve_on(
    listener: socket.socket,
    settings: Settings,
    *,
    on_ready: Callable[[str], None] = lambda address: None,
    stop: asyncio.Event | None = None,
    share: ListenerShare | None = None,
    begin: Callable[[str], Awaitable[None]] = _begin_at_once,
    load: Callable[[], Settings] | None = None,
) -> None:
    """Serve on a bound socket; see `serve_gateway`.

    Args:
        stop: See `serve_gateway`. If the listener is shared, idle connections stay open a little, so
            that no request is lost.
    """
    server = settings.server
    tls = None if server.tls is None else Tls(**server.tls.model_dump(), optional=True).context()
    host, port = listener.getsockname()[:2]
    opened = Generations(await Generation.open(served_at(settings, host, port)))
    async with aclosing(opened) as generations:
        start = _Start(generations.current.gateway, on_ready, stop or asyncio.Event())
        if share is not None:
            await generations.current.gateway.warm_up()
            share.publish(0)
            await begin(address_of(listener, secure=tls is not None))
        with nullcontext() if share is not None else announced(settings, host, port):
            reloader = load and Reloader(load, settings, (host, port), generations, tls)
            config_applied()
            try:
                async with _reloading(reloader, start):
                    await serve_app(
                        generations,
                        listener,
                        shutdown_grace_period=server.shutdown_grace_period,
                        limits=server.limits,
                        forwarded_allow_ips=server.forwarded_allow_ips,
                        tls=tls,
                        on_ready=start.begin if share is None else on_ready,
                        on_stop=notify_stopping if share is None else _nothing,
                        stop=start.stop,
                        share=share,
                    )
            finally:
                await start.end()


def _nothing() -> None:
    pass


@asynccontextmanager
async def _reloading(reloader: Reloader | None, start: _Start) -> AsyncIterator[None]:
    """Reload at SIGHUP and at changes. On a terminal, SIGHUP keeps its meaning: the process ends."""
    if reloader is None:
        yield
        return
    loop = asyncio.get_running_loop()
    has_terminal = bool(sys.stdin) and sys.stdin.isatty()
    if not has_terminal:
        loop.add_signal_handler(signal.SIGHUP, reloader.watch.request)

    async def reload_when_ready() -> None:
        await start.ready.wait()
        await reloader.run()

    running = asyncio.create_task(reload_when_ready())
    try:
        yield
    finally:
        if not has_terminal:
            loop.remove_signal_handler(signal.SIGHUP)
        await cancel_all(running)


class _Start:
    """Makes a gateway ready while its server runs, and stops the server if that fails."""

    def __init__(self, gateway: Gateway, on_ready: Callable[[str], None], stop: asyncio.Event) -> None:
        self.stop = stop
        self.ready = asyncio.Event()
        self._gateway: Gateway | None = gateway  # until it is ready: a reload closes and frees it
        self._on_ready = on_ready
        self._task: asyncio.Task[None] | None = None
        gateway.readiness.begin()

    def begin(self, address: str) -> None:
        """Start the warm-up, when the first connections are accepted."""
        self._task = asyncio.create_task(self._run(partial(self._on_ready, address)))

    async def end(self) -> None:
        """Cancel the warm-up if it is still running."""
        if self._task is None:
            return
        self._task.cancel()
        (failure,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(failure, Exception):
            raise failure

    async def _run(self, on_ready: Callable[[], None]) -> None:
        try:
            assert self._gateway is not None  # noqa: S101 # it begins once
            await self._gateway.warm_up()
            self._gateway = None
            on_ready()
            self.ready.set()
        except Exception:
            self.stop.set()
            raise
