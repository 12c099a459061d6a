"""Runs the supervisor for `sluicegate serve --processes`."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluicegate._util.service_manager import notify_ready, notify_reloading, notify_stopping
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.processes.child import Child
from sluicegate.cli.processes.fork_servers import WorkerSource
from sluicegate.cli.processes.supervisor import Supervisor, WorkerFailed
from sluicegate.config import Settings, load_settings
from sluicegate.config.served_address import announced
from sluicegate.http.serving import bind, listen
from sluicegate.http.shared_listener import ProcessCounts
from sluicegate.server.watch import ConfigurationWatch
from sluicegate.telemetry import config_applied, count

if TYPE_CHECKING:
    from sluicegate.cli.metrics.exporter import Exporter
    from sluicegate.cli.processes.metrics import WorkerMetrics

log = logging.getLogger(__name__)


async def serve_with_workers(
    settings: Settings,
    config: Path,
    processes: int,
    on_ready: Callable[[str], None],
    exporter: Exporter,
) -> int:
    """Serve on one port with several processes until SIGINT or SIGTERM.

    SIGHUP, or a change if `server.reload` says so, replaces the processes one by one; the new ones read
    the configuration again. On a terminal, SIGHUP keeps its meaning: the processes stop.

    Returns:
        The exit code: 0, or that of a process that could not start.
    """
    workers: WorkerMetrics | None = None
    if exporter.prometheus is not None:
        from sluicegate.cli.processes.metrics import WorkerMetrics

        workers = WorkerMetrics(exporter.collect)
    serve = partial(_serve, settings, config, processes, on_ready, workers)
    return await exporter.run(serve, None if workers is None else workers.collect)


async def _serve(
    settings: Settings,
    config: Path,
    processes: int,
    on_ready: Callable[[str], None],
    workers: WorkerMetrics | None,
) -> int:
    server = settings.server
    places = 2 * processes + 1  # workers that are replaced keep theirs until they end
    with bind(server.host, server.port) as listener, ProcessCounts.with_places(places) as counts:
        start = partial(Child.start, listener=listener, counts=counts, metrics=workers)
        source = WorkerSource(config, start)
        supervisor = Supervisor(source, processes, server.shutdown_grace_period)
        host, port = listener.getsockname()[:2]
        replacement = _Replacement(supervisor, settings, config)
        with _Signals(supervisor, replacement.watch.request) as signals:
            try:
                address = await signals.until_stopped(supervisor.open())
                listen(listener)
                supervisor.accept()
                config_applied()
                with announced(settings, host, port):
                    on_ready(address)
                    await signals.until_stopped(_run(supervisor, replacement))
            except WorkerFailed as ended:
                return max(ended.code, 1)  # the worker has printed why
            except asyncio.CancelledError:
                if not signals.stopped:
                    raise
            finally:
                await supervisor.aclose()
                if workers is not None:
                    await workers.aclose()
    return 0


async def _run(supervisor: Supervisor, replacement: _Replacement) -> None:
    await asyncio.gather(supervisor.run(), replacement.run())


class _Replacement:
    """Replaces the workers when the configuration has to be loaded again."""

    def __init__(self, supervisor: Supervisor, settings: Settings, config: Path) -> None:
        self._supervisor = supervisor
        self._config = config
        self.watch = ConfigurationWatch(settings)

    async def run(self) -> None:
        """Replace the workers at each request and change, until canceled."""
        while True:
            await self.watch.wait()
            notify_reloading()
            settings = await self._loaded()
            if settings is not None and await self._supervisor.replace_all():
                self.watch.applied(settings)
                count("sluicegate.config.reloads", outcome="applied")
                config_applied()
            else:
                self.watch.failed()
                count("sluicegate.config.reloads", outcome="failed")
            notify_ready()

    async def _loaded(self) -> Settings | None:
        try:
            return await asyncio.to_thread(load_settings, self._config)
        except ConfigurationError as error:
            log.error("the gateway processes are not replaced: %s", error.message)
            return None


class _Signals:
    """Stops the workers at signals, or has them replaced."""

    def __init__(self, supervisor: Supervisor, on_hangup: Callable[[], None]) -> None:
        self._supervisor = supervisor
        self._on_hangup = on_hangup
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Task[Any] | None = None
        self._handled: list[int] = []
        self.stopped = False

    def __enter__(self) -> _Signals:
        self._handle(signal.SIGTERM, self._stop)
        self._handle(signal.SIGINT, self._interrupt)
        if not sys.stdin or not sys.stdin.isatty():
            self._handle(signal.SIGHUP, self._on_hangup)
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
        notify_stopping()
        self.stopped = True
        if self._waiting is not None:
            self._waiting.cancel()

    def _interrupt(self) -> None:
        if self.stopped:
            self._supervisor.kill()
        self._stop()
