"""`sluicegate delegation`: runs the delegation service, or a worker."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from sluicegate._util.service_manager import notify_ready
from sluicegate.cli.context import load_settings, run_async

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
@click.option("--with-worker", is_flag=True, help="Also run a worker in this process.")
@click.pass_context
def serve(ctx: click.Context, host: str | None, port: int | None, with_worker: bool) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    \b
    Examples:
      sluicegate delegation serve
      sluicegate delegation serve --host 127.0.0.1 --port 8181 --with-worker
    """
    from sluicegate.delegation.service import serve_delegation
    from sluicegate.telemetry.setup import configure

    settings = load_settings(ctx)
    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    own = settings.delegation.model_copy(update=given)
    settings = settings.model_copy(update={"delegation": own})
    stop_telemetry = configure(**settings.telemetry.model_dump())
    try:
        is_left = run_async(serve_delegation(settings, with_worker=with_worker, on_ready=_say_ready))
    finally:
        stop_telemetry()
    _end(is_left=is_left)


@delegation.command()
@click.pass_context
def worker(ctx: click.Context) -> None:
    """Run tasks until SIGTERM or Ctrl-C, then wait up to `drain_timeout` for running tasks.

    A second signal releases the running tasks immediately; another worker continues them. A third
    signal exits without waiting for their executors to stop.

    \b
    Example:
      sluicegate delegation worker
    """
    from sluicegate.delegation.service import run_worker
    from sluicegate.telemetry.setup import configure

    settings = load_settings(ctx)
    stop_telemetry = configure(**settings.telemetry.model_dump())
    try:
        is_left = run_async(run_worker(settings, on_ready=_say_working))
    finally:
        stop_telemetry()
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
