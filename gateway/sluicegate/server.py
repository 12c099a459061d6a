"""Runs the gateway under uvicorn: bound before it says so, stopped gracefully."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.errors import ConfigurationError


async def serve_gateway(
    settings: Settings, *, on_ready: Callable[[str], None] = lambda address: None
) -> None:
    """Serve until SIGINT or SIGTERM; answers that are running then may go on for `stop_timeout`.

    Args:
        settings: Host and port are taken from its `server` section.
        on_ready: Called with the address, once connections are accepted.

    Raises:
        ConfigurationError: The gateway cannot start, or the address cannot be bound.
    """
    listener = _bind(settings.server.host, settings.server.port)
    try:
        async with Gateway.running(settings) as gateway:
            server = _Server(_uvicorn_config(gateway), lambda: on_ready(_address(listener)))
            await server.serve(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """uvicorn's server, which tells when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def _uvicorn_config(gateway: Gateway) -> uvicorn.Config:
    server = gateway.settings.server
    return uvicorn.Config(
        gateway.asgi(),
        loop="none",  # the loop is running already
        http="httptools",
        ws="none",
        lifespan="off",  # Gateway.running is the lifespan: what fails there fails the start
        access_log=False,
        log_config=None,
        proxy_headers=True,
        forwarded_allow_ips=list(server.forwarded_allow_ips),
        server_header=False,
        timeout_graceful_shutdown=server.stop_timeout,
    )


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
