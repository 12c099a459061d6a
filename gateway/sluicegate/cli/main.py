"""The frame of the command: what every command takes, where commands come from, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from sluicegate import __version__
from sluicegate.cli.commands import CommandGroup
from sluicegate.cli.context import config_option
from sluicegate.errors import SluicegateError

DEBUG_VARIABLE = "SLUICEGATE_DEBUG"
FAILED = 1
INTERRUPTED = 130


def build_cli() -> click.Group:
    """The command with everything that it offers, found when it is asked for."""
    group = CommandGroup(
        name="sluicegate",
        params=[config_option()],
        help="A data-sharing gateway in front of existing catalogs.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return click.version_option(__version__, message="%(prog)s %(version)s")(group)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit: 0 done, 1 failed, 2 used wrongly, 130 interrupted."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; errors become one line each on standard error, never a traceback.

    Returns:
        The exit code.
    """
    if os.environ.get(DEBUG_VARIABLE) == "1":
        return _invoke(arguments)
    try:
        return _invoke(arguments)
    except SluicegateError as error:
        return _fail(error.message)
    except OSError as error:
        return _fail(": ".join(str(part) for part in (error.filename, error.strerror) if part))
    except Exception as error:
        # The kind alone: what a library says may hold a secret.
        return _fail(f"unexpected {type(error).__name__}; {DEBUG_VARIABLE}=1 shows where it happened")


def _invoke(arguments: Sequence[str] | None) -> int:
    try:
        # Without its stand-alone mode click returns what `ctx.exit` was given.
        result = build_cli().main(
            args=None if arguments is None else list(arguments),
            prog_name="sluicegate",
            standalone_mode=False,
        )
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return result if isinstance(result, int) else 0


def _fail(message: str) -> int:
    for line in message.splitlines() or ["failed"]:
        click.echo(f"error: {line}", err=True)
    return FAILED
