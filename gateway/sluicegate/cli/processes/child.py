"""The side of the supervisor: one worker process, from its start to its end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from sluicegate.http.shared_listener import ProcessCounts

if TYPE_CHECKING:
    from sluicegate.cli.processes.metrics import WorkerMetrics

Fork = Callable[[int, Sequence[int]], None]
"""Has a worker forked, given its place and descriptors: where its status is written, and what
`WorkerSockets` names."""


class Child:
    """A worker process."""

    def __init__(
        self,
        pid: int,
        status: _Stream,
        control: _Stream,
        on_end: Callable[[], None],
    ) -> None:
        self.pid = pid
        self._control = control
        self._end = asyncio.create_task(self._wait(status, on_end))

    @classmethod
    async def start(
        cls,
        fork: Fork,
        listener: socket.socket,
        counts: ProcessCounts,
        metrics: WorkerMetrics | None = None,
    ) -> Child:
        """Start a process, which inherits the listener and one end of a pair of sockets."""
        place = counts.take()
        with ExitStack() as undo:
            undo.callback(counts.give_back, place)
            with ExitStack() as inherited:
                status, written = _pair(undo, inherited)
                control, theirs = _pair(undo, inherited)
                measured = None if metrics is None else _pair(undo, inherited)
                passed = [written, listener, theirs, *([] if measured is None else measured[1:])]
                descriptors = [each.fileno() for each in passed]
                fork(place, [*descriptors[:3], counts.descriptor, *descriptors[3:]])
            reader, writer = await asyncio.open_connection(sock=status)
            if not (line := await reader.readline()):
                writer.close()
                raise OSError(errno.EAGAIN, "no process could be forked")
            undo.pop_all()
        if metrics is not None and measured is not None:
            await metrics.add(place, measured[0])
        streams = await asyncio.open_connection(sock=control)
        return cls(int(line), (reader, writer), streams, partial(counts.give_back, place))

    async def ready(self) -> str | None:
        """Wait until the worker can serve. Return its address, or `None` if it has ended."""
        try:
            line = await self._control[0].readline()
        except OSError:
            line = b""
        return line.decode().strip() or None

    def accept(self) -> None:
        """Let the worker, which is ready, accept connections."""
        self._control[1].write(b"\n")

    async def ended(self) -> int:
        """Wait until the process ends, and return its exit code; negative for a signal's number."""
        return await asyncio.shield(self._end)

    async def retire(self, seconds: float) -> None:
        """Let the worker complete its requests and its clients leave, and wait until it has ended."""
        self._control[1].close()
        await self._end_within(seconds)

    async def terminate(self, seconds: float) -> None:
        """Let the worker complete its requests, and wait until it has ended."""
        self._signal(signal.SIGTERM)
        await self._end_within(seconds)

    def kill(self) -> None:
        """End the process at once."""
        self._signal(signal.SIGKILL)

    async def _wait(self, status: _Stream, on_end: Callable[[], None]) -> int:
        reader, writer = status
        try:
            line = await reader.readline()
        except OSError:
            line = b""
        writer.close()
        self._control[1].close()  # without a fork server, the process may still run: it then leaves
        on_end()
        return int(line or -signal.SIGKILL)

    async def _end_within(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.ended(), seconds)
        except TimeoutError:
            self.kill()
            await self.ended()
        finally:
            self._control[1].close()

    def _signal(self, number: int) -> None:
        if not self._end.done():
            os.kill(self.pid, number)


_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _pair(ours: ExitStack, theirs: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Return a pair of sockets, one of which is closed with each of the stacks."""
    one, other = socket.socketpair()
    ours.enter_context(one).setblocking(False)
    return one, theirs.enter_context(other)
