"""Runs the gateway: bound before it says so, stopped gracefully."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.http.serving import bind, serve_app
from sluicegate.served_address import announced, served_at


async def serve_gateway(
    settings: Settings,
    *,
    on_ready: Callable[[str], None] = lambda address: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; answers that are running then may go on for `stop_timeout`.

    Args:
        settings: Host and port are taken from its `server` section. Without a `public_url`, links
            name the address that is bound.
        on_ready: Called with the address, once connections are accepted.
        stop: Ends serving as a signal does, once it is set.

    Raises:
        ConfigurationError: The gateway cannot start, or the address cannot be bound.
    """
    server = settings.server
    listener = bind(server.host, server.port)
    try:
        host, port = listener.getsockname()[:2]
        async with Gateway.running(served_at(settings, host, port)) as gateway:
            with announced(settings, host, port):
                await serve_app(
                    gateway.asgi(),
                    listener,
                    stop_timeout=server.stop_timeout,
                    limits=server.limits,
                    forwarded_allow_ips=server.forwarded_allow_ips,
                    on_ready=on_ready,
                    stop=stop,
                )
    finally:
        listener.close()
