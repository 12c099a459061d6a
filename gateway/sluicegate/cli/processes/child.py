"""The side of the supervisor: one worker process, from its start to its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from subprocess import DEVNULL
from typing import TYPE_CHECKING

from sluicegate.cli.processes.sockets import WorkerSockets
from sluicegate.http.shared_listener.process_counts import ProcessCounts

if TYPE_CHECKING:
    from sluicegate.cli.processes.metrics import WorkerMetrics


class Child:
    """A worker process."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_end: Callable[[], None],
    ) -> None:
        self._process = process
        self._on_end = on_end
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(
        cls,
        command: Callable[[WorkerSockets], Sequence[str]],
        listener: socket.socket,
        counts: ProcessCounts,
        metrics: WorkerMetrics | None = None,
    ) -> Child:
        """Start a process, which inherits the listener and one end of a pair of sockets.

        Args:
            command: Builds the command line from what the process inherits.
            listener: A bound socket.
            counts: The open connections of all workers. The new one gets a place until it ends.
            metrics: Collects the metrics of all workers, for which it inherits another socket.

        Raises:
            OSError: There are too many processes or open files.
        """
        place = counts.take()
        with ExitStack() as undo:
            undo.callback(counts.give_back, place)
            with ExitStack() as inherited:
                ours, theirs = _pair(undo, inherited)
                measured = None if metrics is None else _pair(undo, inherited)
                sockets = WorkerSockets(
                    listener.fileno(),
                    theirs.fileno(),
                    counts.descriptor,
                    place,
                    None if measured is None else measured[1].fileno(),
                )
                process = await _started(command(sockets), sockets)
            undo.pop_all()
        if metrics is not None and measured is not None:
            await metrics.add(place, measured[0])
        streams = await asyncio.open_connection(sock=ours)
        return cls(process, *streams, partial(counts.give_back, place))

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    async def ready(self) -> str | None:
        """Wait until the worker accepts connections. Return its address, or `None` if it has ended."""
        try:
            line = await self._reader.readline()
        except OSError:
            line = b""
        return line.decode().strip() or None

    async def ended(self) -> int:
        """Wait until the process ends, and return its exit code; negative for a signal's number."""
        code = await self._process.wait()
        self._writer.close()
        on_end, self._on_end = self._on_end, lambda: None
        on_end()
        return code

    async def retire(self, seconds: float) -> None:
        """Let the worker complete its requests and its clients leave, and wait until it has ended.

        Args:
            seconds: After that time, the process is killed.
        """
        self._writer.close()
        await self._end_within(seconds)

    async def terminate(self, seconds: float) -> None:
        """Let the worker complete its requests, and wait until it has ended.

        Args:
            seconds: After that time, the process is killed.
        """
        self._signal(signal.SIGTERM)
        await self._end_within(seconds)

    def kill(self) -> None:
        """End the process at once."""
        self._signal(signal.SIGKILL)

    async def _end_within(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.ended(), seconds)
        except TimeoutError:
            self.kill()
            await self.ended()
        finally:
            self._writer.close()

    def _signal(self, number: int) -> None:
        if self._process.returncode is None:
            os.kill(self._process.pid, number)


def _pair(ours: ExitStack, theirs: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Return a pair of sockets, one of which is closed with each of the stacks."""
    one, other = socket.socketpair()
    ours.enter_context(one).setblocking(False)
    return one, theirs.enter_context(other)


async def _started(command: Sequence[str], sockets: WorkerSockets) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=DEVNULL,
        pass_fds=sockets.descriptors,
        start_new_session=True,  # a terminal's Ctrl-C reaches only the supervisor
    )
