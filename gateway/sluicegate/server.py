"""Runs the gateway under uvicorn: bound before it says so, stopped gracefully."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from signal import SIGINT
from types import FrameType

import uvicorn

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.errors import ConfigurationError
from sluicegate.http_protocol import JsonHttpProtocol


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
    listener = _bind(settings.server.host, settings.server.port)
    try:
        async with Gateway.running(_reachable(settings, listener)) as gateway:
            ready = partial(on_ready, _address(listener))
            await _Server(_uvicorn_config(gateway), ready, stop).serve(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """uvicorn's server, which tells when it is ready, and ends without raising its signal again."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], stop: asyncio.Event | None
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._stop = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        ended = await super().on_tick(counter)
        return ended or (self._stop is not None and self._stop.is_set())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Raised again, as uvicorn does, a SIGTERM would end the process before anything is closed.
        self.force_exit = self.should_exit and sig == SIGINT
        self.should_exit = True


def _uvicorn_config(gateway: Gateway) -> uvicorn.Config:
    server = gateway.settings.server
    return uvicorn.Config(
        gateway.asgi(),
        loop="none",  # the loop is running already
        http=JsonHttpProtocol,
        ws="none",
        lifespan="off",  # Gateway.running is the lifespan: what fails there fails the start
        access_log=False,
        log_config=None,
        proxy_headers=True,
        forwarded_allow_ips=list(server.forwarded_allow_ips),
        server_header=False,
        timeout_graceful_shutdown=server.stop_timeout,
    )


def _reachable(settings: Settings, listener: socket.socket) -> Settings:
    """The settings with an address that recipients can use, where none is configured."""
    if "public_url" in settings.model_fields_set:
        return settings
    address = _address(listener).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    return settings.model_copy(update={"public_url": address})


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            "choose another with --host and --port"
        ) from error
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
