"""`sluicegate serve`: run the gateway until a signal stops it."""

from __future__ import annotations

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.collection import paused_collection


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(serve)


@click.command()
@click.option("--host", help="Address to listen on, instead of the configuration's.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 takes a free one.")
@click.pass_context
def serve(ctx: click.Context, host: str | None, port: int | None) -> None:
    """Serve the configured shares until SIGTERM or Ctrl-C; running answers are let to their end."""
    with paused_collection():
        from sluicegate.server import serve_gateway
        from sluicegate.telemetry.setup import configure

    settings = load_settings(ctx)
    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    settings = settings.model_copy(update={"server": settings.server.model_copy(update=given)})
    stop_telemetry = configure(**settings.telemetry.model_dump())
    try:
        run_async(serve_gateway(settings, on_ready=_say_ready))
    finally:
        stop_telemetry()  # flushes, so the event loop must have ended


def _say_ready(address: str) -> None:
    click.echo(f"serving Delta Sharing at {address}/delta-sharing (stop with Ctrl-C)", err=True)
