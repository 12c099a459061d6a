"""`sluicegate delegation`: run the delegation service, or a worker of it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import load_settings, run_async

if TYPE_CHECKING:
    from sluicegate.delegation.worker import Worker


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(delegation)


@click.group()
def delegation() -> None:
    """Long tasks that catalogs hand over: the service and its workers."""


@delegation.command()
@click.option("--host", help="Address to listen on, instead of the configuration's.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 takes a free one.")
@click.option("--with-worker", is_flag=True, help="Run a worker in this process, too.")
@click.pass_context
def serve(ctx: click.Context, host: str | None, port: int | None, with_worker: bool) -> None:
    """Serve the API until SIGTERM or Ctrl-C."""
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
    """Run tasks until SIGTERM or Ctrl-C; then running ones have `drain_timeout` to end.

    A second signal gives them back at once; another worker goes on with them. A third one does not
    even wait for their executors to end.
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
    """End at once if an executor was left behind: the interpreter would wait for its threads."""
    if is_left:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _say_ready(address: str) -> None:
    click.echo(f"serving delegated tasks at {address}/delegation-service/api", err=True)


def _say_working(worker: Worker) -> None:
    operations = ", ".join(sorted(worker.operations))
    click.echo(f"worker {worker.name} takes tasks (stop with Ctrl-C): {operations}", err=True)
