"""Accepts connections from a listener that several processes share, so that each gets its part.

The kernel wakes all of them for a connection. Whichever is first would get all connections of a burst,
and would have to serve them as long as they are kept alive, while the others are idle.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from sluicegate._util.tasks import cancel_all

# What a place contains instead of a number: nobody has it, or its process accepts no connections.
_FREE, _CLOSED = -2, -1
_BYTES = 4


class ProcessCounts:
    """The numbers in memory that the processes share. Each process changes only its own."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._counts = memoryview(mmap.mmap(descriptor, 0)).cast("i")

    @classmethod
    @contextmanager
    def with_places(cls, places: int) -> Iterator[ProcessCounts]:
        """Create the file, which has no name, with a place for so many processes."""
        with _new_file() as file:
            file.write(_FREE.to_bytes(_BYTES, sys.byteorder, signed=True) * places)
            file.flush()
            yield cls(file.fileno())

    def take(self) -> int:
        """Reserve a place for a process that is about to start, and return its number."""
        for place, count in enumerate(self._counts):
            if count == _FREE:
                self._counts[place] = _CLOSED
                return place
        raise OSError("too many processes")

    def give_back(self, place: int) -> None:
        """Free the place of a process that has ended."""
        self._counts[place] = _FREE

    def share(self, place: int) -> ListenerShare:
        """The view of one process."""
        return ListenerShare(self._counts, place)


class ListenerShare:
    """The share of one process in the connections of all."""

    def __init__(self, counts: memoryview, place: int) -> None:
        self._counts = counts
        self._place = place

    def publish(self, count: int) -> None:
        """Tell the others how many connections this process has open."""
        self._counts[self._place] = count

    def leave(self) -> None:
        """Tell the others that this process accepts no more connections."""
        self._counts[self._place] = _CLOSED

    def is_exceeded(self) -> bool:
        """Whether another process accepts connections, and has clearly fewer than this one."""
        least = min(count for count in self._counts if count >= 0)
        return self._counts[self._place] > least + least // 8


def _new_file() -> IO[bytes]:
    """A file without a name. Linux needs no directory for it, which containers can lack."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("sluicegate-connections"), "r+b")
    return tempfile.TemporaryFile()


log = logging.getLogger(__name__)

# Seconds between looks at what the others have. After some looks, a process accepts connections that it
# would rather leave to them: they might be busy.
_LOOK_SECONDS = 0.001
_PATIENCE = 10
_AT_ONCE = 16  # connections, before requests are served again
_RETRY_SECONDS = 1.0  # after a failure such as too many open files


class Acceptor:
    """Accepts connections while this process has not clearly more of them than another."""

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
