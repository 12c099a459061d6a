"""Runs the gateway: reports readiness once queries have nothing to load, and stops gracefully."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.config.served_address import announced, served_at
from sluicegate.http.serving import Tls, bind, serve_app
from sluicegate.http.shared_listener.process_counts import ListenerShare


async def serve_gateway(
    settings: Settings,
    *,
    on_ready: Callable[[str], None] = lambda address: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. Then, running responses have `shutdown_grace_period` to complete.

    Connections are accepted before the gateway is ready, so that liveness checks succeed.

    Args:
        settings: Its `server` section contains host and port. Without a `public_url`, links use the
            bound address.
        on_ready: Called with the address once the gateway is ready.
        stop: When set, stops the server in the same way as a signal.

    Raises:
        ConfigurationError: The gateway can't start, or the address can't be bound.
    """
    with bind(settings.server.host, settings.server.port) as listener:
        await serve_on(listener, settings, on_ready=on_ready, stop=stop)


async def serve_on(
    listener: socket.socket,
    settings: Settings,
    *,
    on_ready: Callable[[str], None] = lambda address: None,
    stop: asyncio.Event | None = None,
    share: ListenerShare | None = None,
) -> None:
    """Serve on a bound socket; see `serve_gateway`.

    Args:
        listener: The socket. The caller closes it.
        settings: See `serve_gateway`.
        on_ready: See `serve_gateway`.
        stop: See `serve_gateway`. If the listener is shared, idle connections stay open a little, so
            that no request is lost.
        share: The share of this process, if others serve on the same socket. Their supervisor
            announces the address.

    Raises:
        ConfigurationError: The gateway can't start.
    """
    server = settings.server
    tls = None if server.tls is None else Tls(**server.tls.model_dump(), optional=True)
    host, port = listener.getsockname()[:2]
    async with Gateway.running(served_at(settings, host, port)) as gateway:
        start = _Start(gateway, on_ready, stop or asyncio.Event())
        if share is not None:
            await gateway.warm_up()  # the other processes serve meanwhile
        with nullcontext() if share is not None else announced(settings, host, port):
            try:
                await serve_app(
                    gateway.asgi(),
                    listener,
                    shutdown_grace_period=server.shutdown_grace_period,
                    limits=server.limits,
                    forwarded_allow_ips=server.forwarded_allow_ips,
                    tls=tls,
                    on_ready=start.begin if share is None else on_ready,
                    stop=start.stop,
                    share=share,
                )
            finally:
                await start.end()


class _Start:
    """Makes a gateway ready while its server runs, and stops the server if that fails.

    Attributes:
        stop: Stops the server.
    """

    def __init__(self, gateway: Gateway, on_ready: Callable[[str], None], stop: asyncio.Event) -> None:
        self.stop = stop
        self._gateway = gateway
        self._on_ready = on_ready
        self._task: asyncio.Task[None] | None = None
        gateway.readiness.begin()

    def begin(self, address: str) -> None:
        """Start the warm-up, when the first connections are accepted."""
        self._task = asyncio.create_task(self._run(partial(self._on_ready, address)))

    async def end(self) -> None:
        """Cancel the warm-up if it is still running.

        Raises:
            ConfigurationError: The warm-up has failed.
        """
        if self._task is None:
            return
        self._task.cancel()
        (failure,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(failure, Exception):
            raise failure

    async def _run(self, on_ready: Callable[[], None]) -> None:
        try:
            await self._gateway.warm_up()
            on_ready()
        except Exception:
            self.stop.set()
            raise
