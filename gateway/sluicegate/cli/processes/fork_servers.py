"""The side of the supervisor: the processes that fork workers for it."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL

from sluicegate.cli.processes.child import Child, Fork
from sluicegate.cli.processes.forking import PLACE_BYTES

# Seconds that a fork server has to end after its last worker.
_TIMEOUT = 5.0


class WorkerSource:
    """Starts workers that have one configuration and one version of the code."""

    def __init__(self, config: Path, start_child: Callable[[Fork], Awaitable[Child]]) -> None:
        self._config = config
        self._start_child = start_child
        self._process: asyncio.subprocess.Process | None = None
        self._requests: socket.socket | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> Child:
        """Start a worker, and before that a fork server, unless one is running."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                await self._start_server()
        return await self._start_child(self._fork)

    def renewed(self) -> WorkerSource:
        """Return another source: its workers have the present configuration and code."""
        return WorkerSource(self._config, self._start_child)

    def close(self) -> None:
        """Start no more workers. The fork server ends with the last one that it has forked."""
        if self._requests is not None:
            self._requests.close()

    async def aclose(self) -> None:
        """Close, and wait for the end of the fork server, whose workers have ended."""
        self.close()
        if self._process is not None:
            try:
                await asyncio.wait_for(self._process.wait(), _TIMEOUT)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()

    async def _start_server(self) -> None:
        self.close()
        self._requests, theirs = socket.socketpair()
        with theirs:
            option = ["--fork-server", str(theirs.fileno())]
            self._process = await asyncio.create_subprocess_exec(
                *serve_command(self._config),
                *option,
                stdin=DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a terminal's Ctrl-C reaches only the supervisor
            )

    def _fork(self, place: int, descriptors: Sequence[int]) -> None:
        assert self._requests is not None  # noqa: S101 # `start` has opened it
        socket.send_fds(self._requests, [place.to_bytes(PLACE_BYTES)], descriptors)


def serve_command(config: Path) -> list[str]:
    """The command line of `sluicegate serve`, to which hidden options are added."""
    # Without `-P`, Python would import modules from the working directory.
    return [sys.executable, "-P", "-m", "sluicegate.cli", "serve", "--config", str(config)]
