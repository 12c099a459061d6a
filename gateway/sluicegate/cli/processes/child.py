"""The side of the supervisor: one worker process, from its start to its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from subprocess import DEVNULL

from sluicegate.cli.processes.sockets import WorkerSockets


class Child:
    """A worker process."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(
        cls, command: Callable[[WorkerSockets], Sequence[str]], listener: socket.socket
    ) -> Child:
        """Start a process, which inherits the listener and one end of a pair of sockets.

        Args:
            command: Builds the command line from the inherited file descriptors.
            listener: A bound socket.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            sockets = WorkerSockets(listener.fileno(), theirs.fileno())
            try:
                process = await asyncio.create_subprocess_exec(
                    *command(sockets),
                    stdin=DEVNULL,
                    pass_fds=(sockets.listener, sockets.control),
                    start_new_session=True,  # a terminal's Ctrl-C reaches only the supervisor
                )
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        return cls(process, *await asyncio.open_connection(sock=ours))

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
        return await self._process.wait()

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
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            self.kill()
            await self._process.wait()
        finally:
            self._writer.close()

    def _signal(self, number: int) -> None:
        if self._process.returncode is None:
            os.kill(self._process.pid, number)
