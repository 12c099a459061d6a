"""Runs an ASGI application under uvicorn: reports readiness once bound, and stops gracefully."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import SIGINT
from types import FrameType
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import SSL_PROTOCOL_VERSION, create_ssl_context

from sluicegate._util.tasks import cancel_all
from sluicegate.api.errors import ConfigurationError
from sluicegate.http.connections import Connections
from sluicegate.http.limits import HttpLimits, connections_within_files
from sluicegate.http.protocol import LimitedHttpProtocol
from sluicegate.http.shared_listener import Acceptor, ListenerShare
from sluicegate.telemetry.metrics import gauge, instruments

log = logging.getLogger(__name__)

# A year, for browsers (RFC 6797). Proxies that end TLS must send it themselves.
_HSTS = ("strict-transport-security", "max-age=31536000")
_BACKLOG = 2048  # connections that the kernel queues while the event loop is busy
# Seconds for which idle connections of a replaced process stay open, so that a request that is on its
# way still gets a response. After that response, they are closed.
_IDLE_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files for TLS."""

    certificate: str
    key: str
    client_ca: str | None = None
    optional: bool = False

    def context(self) -> ssl.SSLContext:
        """Load the files."""
        verified = ssl.CERT_NONE
        if self.client_ca is not None:
            verified = ssl.CERT_OPTIONAL if self.optional else ssl.CERT_REQUIRED
        try:
            context = create_ssl_context(
                self.certificate,
                self.key,
                None,
                SSL_PROTOCOL_VERSION,
                verified,
                self.client_ca,
                "TLSv1",  # uvicorn's default
            )
        except OSError as error:  # ssl.SSLError is a subclass
            raise ConfigurationError(f"the certificates cannot be used: {error.strerror}") from error
        self._report_expiry()
        return context

    def _report_expiry(self) -> None:
        if instruments() is None:
            return
        from cryptography.x509 import load_pem_x509_certificates

        try:
            certificate = load_pem_x509_certificates(Path(self.certificate).read_bytes())[0]
        except (OSError, ValueError) as error:  # it was loaded already, but has changed meanwhile
            log.warning("the expiry of the certificate is not reported: %s", type(error).__name__)
        else:
            gauge("sluicegate.certificate.expiry", certificate.not_valid_after_utc.timestamp())


def renew(context: ssl.SSLContext, tls: Tls) -> None:
    """Use another certificate and key for new connections."""
    tls.context()  # a failure in the other context could leave a certificate without its key
    context.load_cert_chain(tls.certificate, tls.key)


async def serve_app(
    app: ASGIApp,
    listener: socket.socket,
    *,
    shutdown_grace_period: int,
    limits: HttpLimits | None = None,
    forwarded_allow_ips: Sequence[str] = (),
    tls: ssl.SSLContext | None = None,
    on_ready: Callable[[str], None] = lambda address: None,
    on_stop: Callable[[], None] = lambda: None,
    stop: asyncio.Event | None = None,
    share: ListenerShare | None = None,
    handles_signals: bool = True,
) -> None:
    """Serve until SIGINT or SIGTERM."""
    limits = limits or HttpLimits()
    config = _configuration(app, shutdown_grace_period, forwarded_allow_ips, tls)
    ready = partial(on_ready, address_of(listener, secure=tls is not None))
    connections = Connections(connections_within_files(limits), forwarded_allow_ips, time.monotonic)
    server = _Server(config, connections, ready, on_stop, stop, share)
    await (server.serve if handles_signals else server.serve_until_stopped)(sockets=[listener])


def _configuration(
    app: ASGIApp,
    shutdown_grace_period: int,
    forwarded_allow_ips: Sequence[str],
    tls: ssl.SSLContext | None,
) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        loop="none",  # the loop is running already
        http=LimitedHttpProtocol,
        interface="asgi3",
        ws="none",
        lifespan="off",  # the surrounding code is the lifespan: its errors prevent startup
        access_log=False,
        log_config=None,
        proxy_headers=bool(forwarded_allow_ips),
        forwarded_allow_ips=list(forwarded_allow_ips),
        server_header=False,
        headers=[] if tls is None else [_HSTS],
        timeout_graceful_shutdown=shutdown_grace_period,
    )
    config.load()
    config.ssl = tls
    return config


def bind(host: str, port: int, *, setting: str | None = None) -> socket.socket:
    """A socket that is bound, but does not listen yet."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            f"choose another with {setting or '--host and --port'}"
        ) from error
    return listener


def listen(listener: socket.socket) -> None:
    """Let clients connect to a bound socket. They wait until a process accepts their connections."""
    listener.listen(_BACKLOG)


def address_of(listener: socket.socket, *, secure: bool = False) -> str:
    """The URL of a bound socket."""
    scheme = "https" if secure else "http"
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class _Server(uvicorn.Server):
    """uvicorn's server, which reports when it is ready, and exits without raising its signal again."""

    def __init__(
        self,
        config: uvicorn.Config,
        connections: Connections,
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
        stop: asyncio.Event | None,
        share: ListenerShare | None,
    ) -> None:
        super().__init__(config)
        self.servers = []  # uvicorn closes them first at its shutdown; an acceptor has none
        self._connections = connections
        self._watching: asyncio.Task[None] | None = None
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._stop = stop
        self._share = share
        self._acceptor: Acceptor | None = None

    async def serve_until_stopped(self, sockets: list[socket.socket]) -> None:
        """Serve next to a server that handles the signals of the process."""
        await self._serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop, tls = asyncio.get_running_loop(), self.config.ssl
        timeout = None if tls is None else self._connections.limits.head_timeout
        (listener,) = sockets or []
        if self._share is None:
            server = await loop.create_server(
                self._connected,
                sock=listener,
                ssl=tls,
                backlog=_BACKLOG,
                ssl_handshake_timeout=timeout,
            )
            self.servers = [server]
        else:
            self._acceptor = self._accept(listener, self._share, timeout)
        self.started = True
        self._watching = asyncio.create_task(self._connections.watch())
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        if self._acceptor is not None:
            if self._stop is not None and self._stop.is_set():
                await self._leave(self._acceptor)
            await self._acceptor.aclose()
        await super().shutdown(sockets)
        if self._watching is not None:
            await cancel_all(self._watching)

    def _accept(self, listener: socket.socket, share: ListenerShare, timeout: float | None) -> Acceptor:
        """Accept connections as other processes leave them to this one."""
        listener.setblocking(False)
        listen(listener)
        connections = self._connections
        acceptor = Acceptor(
            listener,
            self._connected,
            share,
            connections.__len__,
            tls=self.config.ssl,
            handshake_timeout=timeout,
        )
        connections.on_change = acceptor.publish
        return acceptor

    async def _leave(self, acceptor: Acceptor) -> None:
        """Accept no more connections, and wait a little for clients to leave the idle ones."""
        acceptor.close()
        for connection in self.server_state.connections:
            cast("LimitedHttpProtocol", connection).close_after_response()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._connections.until_empty(), _IDLE_GRACE)

    async def on_tick(self, counter: int) -> bool:
        ended = await super().on_tick(counter)
        return ended or (self._stop is not None and self._stop.is_set())

    def _connected(self) -> LimitedHttpProtocol:
        return LimitedHttpProtocol(self.config, self.server_state, {}, self._connections)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Raised again, as uvicorn does, a SIGTERM would end the process before anything is closed.
        self.force_exit = self.should_exit and sig == SIGINT
        self.should_exit = True
