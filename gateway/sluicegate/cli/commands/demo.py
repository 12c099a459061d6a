"""`sluicegate demo`: shares sample tables on this machine and reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import run_async

if TYPE_CHECKING:
    from sluicegate.cli.demo.folder import DemoFolder


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(demo)


@click.command()
@click.option("--check", is_flag=True, help="Verify every row of every version, then exit.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Port to listen on, on the loopback interface.  [default: a free port]",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="New or empty folder to store the demo in.  [default: a temporary folder]",
)
def demo(check: bool, port: int, folder: Path | None) -> None:
    """Share three Delta tables on this machine, and read them with the official client.

    The demo requires only `pip install 'sluicegate[demo]'`. After it reads the tables, it serves them
    until Ctrl-C.

    \b
    Examples:
      sluicegate demo
      sluicegate demo --check
      sluicegate demo --folder ./demo --port 8080
    """
    from sluicegate.cli.demo.run import Interrupted, run_demo
    from sluicegate.telemetry.setup import configure

    stop_telemetry = configure(log_level="error")
    try:
        with _folder(folder) as place:
            run_async(run_demo(place, port=port, check=check, say=_say))
    except Interrupted:
        raise click.Abort from None
    finally:
        stop_telemetry()


@contextmanager
def _folder(given: Path | None) -> Iterator[DemoFolder]:
    from tempfile import TemporaryDirectory

    from sluicegate.cli.demo.folder import DemoFolder

    if given is not None:
        yield DemoFolder.create(given)
        return
    with TemporaryDirectory(prefix="sluicegate-demo-") as made:
        yield DemoFolder.create(Path(made))


def _say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()  # so that each step appears when it completes, also in a pipe
