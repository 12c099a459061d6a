"""`sluicegate delegation`: runs the delegation service, or a worker."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from sluicegate._util.service_manager import notify_ready
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.metrics.option import prometheus_option, with_prometheus_port

if TYPE_CHECKING:
    from sluicegate.delegation.worker.worker import Worker


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(delegation)


@click.group()
def delegation() -> None:
    """Run the delegation service, or a worker that executes its tasks.

    \b
    Example:
      sluicegate delegation serve --with-worker
    """


@delegation.command()
@click.option("--host", help="Address to listen on. Overrides the configuration.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 selects a free port."
)
@prometheus_option
@click.option("--with-worker", is_flag=True, help="Also run a worker in this process.")
@click.pass_context
def serve(
    ctx: click.Context,
    host: str | None,
    port: int | None,
    prometheus_port: int | None,
    with_worker: bool,
) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    \b
    Examples:
      sluicegate delegation serve
      sluicegate delegation serve --host 127.0.0.1 --port 8181 --with-worker
    """
    from sluicegate.cli.metrics.exporter import exporting
    from sluicegate.delegation.service import serve_delegation

    settings = with_prometheus_port(load_settings(ctx), prometheus_port)
    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    own = settings.delegation.model_copy(update=given)
    settings = settings.model_copy(update={"delegation": own})
    serving = partial(serve_delegation, settings, with_worker=with_worker, on_ready=_say_ready)
    with exporting(settings.telemetry) as exporter:
        is_left = run_async(exporter.run(serving))
    _end(is_left=is_left)


@delegation.command()
@prometheus_option
@click.pass_context
def worker(ctx: click.Context, prometheus_port: int | None) -> None:
    """Run tasks until SIGTERM or Ctrl-C, then wait up to `drain_timeout` for running tasks.

    A second signal releases the running tasks immediately; another worker continues them. A third
    signal exits without waiting for their executors to stop.

    \b
    Example:
      sluicegate delegation worker
    """
    from sluicegate.cli.metrics.exporter import exporting
    from sluicegate.delegation.service import run_worker

    settings = with_prometheus_port(load_settings(ctx), prometheus_port)
    with exporting(settings.telemetry) as exporter:
        is_left = run_async(exporter.run(partial(run_worker, settings, on_ready=_say_working)))
    _end(is_left=is_left)


def _end(*, is_left: bool) -> None:
    """Exit immediately if an executor still runs: the interpreter would wait for its threads."""
    if is_left:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _say_ready(address: str) -> None:
    click.echo(f"serving delegated tasks at {address}/delegation-service/api", err=True)
    notify_ready()


def _say_working(worker: Worker) -> None:
    operations = ", ".join(sorted(worker.operations))
    click.echo(f"worker {worker.name} runs tasks (stop with Ctrl-C): {operations}", err=True)
    notify_ready()
