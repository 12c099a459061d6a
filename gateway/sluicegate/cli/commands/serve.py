"""`sluicegate serve`: runs the gateway until a signal stops it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate._util.memory import paused_collection, share_arenas
from sluicegate._util.service_manager import notify_ready
from sluicegate.cli.context import config_path, load_settings, run_async
from sluicegate.cli.metrics.option import prometheus_option, with_prometheus_port
from sluicegate.cli.processes.sockets import WorkerOption, WorkerSockets

if TYPE_CHECKING:
    from sluicegate.config import Settings


AUTO = "auto"
_MOST = 256
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


class ProcessCount(click.ParamType[int]):
    """A number of processes, or `auto` for the number of usable CPUs."""

    name = f"N|{AUTO}"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Convert the text of the command line."""
        if isinstance(value, int):
            return value
        if value == AUTO:
            return usable_cpus()
        text = str(value)
        if text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST:
            return int(text)
        self.fail(f"expected a number from 1 to {_MOST}, or {AUTO}; got {text!r}", param, ctx)


def usable_cpus(cpu_max: Path = _CPU_MAX) -> int:
    """How many CPUs this process may use, at least 1: its affinity, and its container's quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _quota(cpu_max))))


def _quota(cpu_max: Path) -> float:
    try:
        quota, period = cpu_max.read_text(encoding="ascii").split()
        return math.inf if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(serve)


@click.command()
@click.option("--host", help="Address to listen on. Overrides the configuration.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 selects a free port."
)
@click.option(
    "--processes",
    type=ProcessCount(),
    default=1,
    show_default=True,
    help="Processes that serve on the port; auto: one for each CPU. SIGHUP replaces them one by one.",
)
@prometheus_option
@click.option("--fork-server", type=int, hidden=True)
@click.option("--worker", type=WorkerOption(), hidden=True)
@click.pass_context
def serve(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    processes: int,
    prometheus_port: int | None,
    fork_server: int | None,
    worker: WorkerSockets | None,
) -> None:
    """Serve the configured shares until SIGTERM or Ctrl-C. Requests in progress complete first.

    SIGHUP applies changes of the configuration without interrupting service.

    \b
    Examples:
      sluicegate serve
      sluicegate serve --processes auto
      sluicegate serve --config /etc/sluicegate/gateway.yaml --host 0.0.0.0 --port 8080
    """
    share_arenas()
    with paused_collection():  # this imports the models of the settings
        settings = load_settings(ctx, warn=worker is None and fork_server is None)
    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    settings = with_prometheus_port(_with(settings, given), prometheus_port)
    if processes > 1:
        ctx.exit(_supervise(settings, config_path(ctx), processes))
    with paused_collection():
        from sluicegate.cli.metrics.exporter import exporting
        from sluicegate.server.serve import serve_gateway

    if fork_server is not None:
        worker = _fork_server(fork_server, config_path(ctx))
        if worker is None:
            return
    if worker is not None:
        _work(settings, worker)
        return
    load = partial(_load, config_path(ctx), given)
    with exporting(settings.telemetry) as exporter:
        run_async(exporter.run(partial(serve_gateway, settings, on_ready=_say_ready, load=load)))


def _fork_server(descriptor: int, config: Path) -> WorkerSockets | None:
    """Fork workers. Return what this process inherits if it is one of them."""
    import socket

    from sluicegate.cli.processes.fork_servers import serve_command
    from sluicegate.cli.processes.forking import ForkServer

    def command(sockets: WorkerSockets) -> list[str]:
        return [*serve_command(config), "--worker", str(sockets)]

    with socket.socket(fileno=descriptor) as requests:
        requests.set_inheritable(False)
        return ForkServer(requests, command).run()


def _work(settings: Settings, sockets: WorkerSockets) -> None:
    """Serve as one of several processes. The supervisor serves the metrics to Prometheus."""
    with paused_collection():
        from sluicegate.cli.metrics.exporter import exporting
        from sluicegate.cli.processes.worker import serve_as_worker

    collected = sockets.metrics is not None
    telemetry = settings.telemetry.model_copy(update={"prometheus": None})
    with exporting(telemetry, process=os.getpid(), for_supervisor=collected) as exporter:
        run_async(exporter.run(partial(serve_as_worker, settings, sockets, exporter)))


def _with(settings: Settings, given: Mapping[str, object]) -> Settings:
    return settings.model_copy(update={"server": settings.server.model_copy(update=given)})


def _load(config: Path, given: Mapping[str, object]) -> Settings:
    """Read the settings again, while the gateway serves."""
    from sluicegate.config import load_settings

    return _with(load_settings(config), given)


def _supervise(settings: Settings, config: Path, processes: int) -> int:
    """Run the supervisor."""
    from sluicegate.cli.metrics.exporter import exporting
    from sluicegate.cli.processes.run import serve_with_workers

    with exporting(settings.telemetry, process=os.getpid()) as exporter:
        return run_async(serve_with_workers(settings, config, processes, _say_ready, exporter))


def _say_ready(address: str) -> None:
    click.echo(f"serving Delta Sharing at {address}/delta-sharing (stop with Ctrl-C)", err=True)
    notify_ready()
