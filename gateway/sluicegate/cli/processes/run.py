"""Runs the supervisor for `sluicegate serve --processes`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from sluicegate.cli.processes.child import Child
from sluicegate.cli.processes.sockets import WorkerSockets
from sluicegate.cli.processes.supervisor import Supervisor, WorkerFailed
from sluicegate.config import Settings
from sluicegate.config.served_address import announced
from sluicegate.http.serving import bind
from sluicegate.http.shared_listener.process_counts import ProcessCounts


async def serve_with_workers(
    settings: Settings, config: Path, count: int, on_ready: Callable[[str], None]
) -> int:
    """Serve on one port with several processes until SIGINT or SIGTERM.

    SIGHUP replaces the processes one by one; the new ones read the configuration again. On a terminal,
    SIGHUP keeps its meaning: the processes stop.

    Args:
        settings: Host, port, and grace period. The workers read all others themselves.
        config: The configuration file.
        count: Number of processes.
        on_ready: Called with the address once all processes accept connections.

    Returns:
        The exit code: 0, or that of a process that could not start.

    Raises:
        ConfigurationError: The address can't be bound.
    """
    server = settings.server
    places = 2 * count + 1  # workers that are replaced keep theirs until they end
    with bind(server.host, server.port) as listener, ProcessCounts.with_places(places) as counts:
        start = partial(Child.start, partial(_command, config), listener, counts)
        supervisor = Supervisor(start, count, server.shutdown_grace_period)
        host, port = listener.getsockname()[:2]
        with _Signals(supervisor) as signals:
            try:
                address = await signals.until_stopped(supervisor.open())
                with announced(settings, host, port):
                    on_ready(address)
                    await signals.until_stopped(supervisor.run())
            except WorkerFailed as ended:
                return max(ended.code, 1)  # the worker has printed why
            except asyncio.CancelledError:
                if not signals.stopped:
                    raise
            finally:
                await supervisor.aclose()
    return 0


def _command(config: Path, sockets: WorkerSockets) -> list[str]:
    # Without `-P`, Python would import modules from the working directory.
    python = [sys.executable, "-P", "-m", "sluicegate.cli"]
    return [*python, "serve", "--config", str(config), "--worker", str(sockets)]


class _Signals:
    """Stops or replaces the workers at signals."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Task[Any] | None = None
        self._replacing: asyncio.Task[None] | None = None
        self._handled: list[int] = []
        self.stopped = False

    def __enter__(self) -> _Signals:
        self._handle(signal.SIGTERM, self._stop)
        self._handle(signal.SIGINT, self._interrupt)
        if not sys.stdin or not sys.stdin.isatty():
            self._handle(signal.SIGHUP, self._replace)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._handled:
            self._loop.remove_signal_handler(number)

    async def until_stopped(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of the work, which a signal cancels."""
        self._waiting = asyncio.ensure_future(work)
        if self.stopped:
            self._waiting.cancel()
        return await self._waiting

    def _handle(self, number: int, act: Callable[[], None]) -> None:
        self._loop.add_signal_handler(number, act)
        self._handled.append(number)

    def _stop(self) -> None:
        self.stopped = True
        for task in (self._replacing, self._waiting):
            if task is not None:
                task.cancel()

    def _interrupt(self) -> None:
        if self.stopped:
            self._supervisor.kill()
        self._stop()

    def _replace(self) -> None:
        if self._replacing is None or self._replacing.done():
            self._replacing = asyncio.ensure_future(self._supervisor.replace_all())
