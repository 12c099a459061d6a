"""Accepts connections from a listener that several processes share, so that each gets its part.

The kernel wakes all of them for a connection. Whichever is first would get all connections of a burst,
and would have to serve them as long as they are kept alive, while the others are idle.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

from sluicegate._util.tasks import cancel_all
from sluicegate.http.shared_listener.process_counts import ListenerShare

log = logging.getLogger(__name__)

# Seconds between looks at what the others have. After some looks, a process accepts connections that it
# would rather leave to them: they might be busy.
_LOOK_SECONDS = 0.001
_PATIENCE = 10
_AT_ONCE = 16  # connections, before requests are served again
_RETRY_SECONDS = 1.0  # after a failure such as too many open files


class Acceptor:
    """Accepts connections while this process has not clearly more of them than another.

    Args:
        listener: A listening socket, which does not block.
        protocol: Creates the protocol of a connection.
        share: The share of this process.
        open_connections: Returns how many connections this process has open.
        tls: The context for TLS, if the connections use it.
        handshake_timeout: Seconds for the handshake of TLS.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        share: ListenerShare,
        open_connections: Callable[[], int],
        *,
        tls: ssl.SSLContext | None = None,
        handshake_timeout: float | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._protocol = protocol
        self._share = share
        self._open_connections = open_connections
        self._tls = tls
        self._handshake_timeout = handshake_timeout
        self._connecting: set[asyncio.Task[object]] = set()
        self._looks = 0
        self._pause: asyncio.TimerHandle | None = None
        self.publish()
        self._watch()

    def publish(self) -> None:
        """Tell the other processes how many connections this one has, after that has changed."""
        if self._listener.fileno() >= 0:
            self._share.publish(self._open_connections() + len(self._connecting))

    def close(self) -> None:
        """Accept no more connections."""
        if self._pause is not None:
            self._pause.cancel()
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._share.leave()

    async def aclose(self) -> None:
        """Accept no more connections, and end handshakes that are not complete."""
        self.close()
        await cancel_all(*self._connecting)

    def _watch(self) -> None:
        self._loop.add_reader(self._listener, self._accept_share)

    def _watch_later(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, self._watch)

    def _accept_share(self) -> None:
        """Handle waiting connections."""
        leaves = self._looks < _PATIENCE
        if leaves and self._share.is_exceeded():
            self._looks += 1
            self._watch_later(_LOOK_SECONDS)
            return
        self._looks = 0
        for _ in range(_AT_ONCE):
            if not self._accept_one() or (leaves and self._share.is_exceeded()):
                break

    def _accept_one(self) -> bool:
        """Accept a connection. Returns whether there was one."""
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            log.error("cannot accept connections: %s", error.strerror)
            self._watch_later(_RETRY_SECONDS)
            return False
        connection.setblocking(False)
        task = self._loop.create_task(self._connect(connection))
        self._connecting.add(task)
        task.add_done_callback(self._connected)
        self.publish()
        return True

    async def _connect(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=self._handshake_timeout,
            )
        except OSError as error:  # ssl.SSLError is a subclass
            log.debug("a connection ended before it was established: %s", error)

    def _connected(self, task: asyncio.Task[object]) -> None:
        self._connecting.discard(task)
        self.publish()
