"""`sluicegate serve`: runs the gateway until a signal stops it."""

from __future__ import annotations

import click

from sluicegate._util.garbage_collection import paused_collection
from sluicegate.cli.context import load_settings, run_async


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(serve)


@click.command()
@click.option("--host", help="Address to listen on. Overrides the configuration.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 selects a free port."
)
@click.pass_context
def serve(ctx: click.Context, host: str | None, port: int | None) -> None:
    """Serve the configured shares until SIGTERM or Ctrl-C. Requests in progress complete first.

    \b
    Examples:
      sluicegate serve
      sluicegate serve --config /etc/sluicegate/gateway.yaml --host 0.0.0.0 --port 8080
    """
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
