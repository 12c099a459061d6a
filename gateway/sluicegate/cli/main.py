"""The entry point of the command: common options, commands, and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from sluicegate import __version__
from sluicegate.api.errors import SluicegateError
from sluicegate.cli.context import COMPLETION_VARIABLE, config_option, is_debugging, unexpected
from sluicegate.cli.discovery import CommandGroup
from sluicegate.cli.management.server import server_options
from sluicegate.cli.terminal import color_choice, report

FAILED = 1
INTERRUPTED = 130

_HELP = """A data-sharing gateway in front of existing catalogs.

\b
Examples:
  sluicegate demo
  sluicegate serve --config gateway.yaml
"""


def build_cli() -> click.Group:
    """Build the command. Subcommands are imported when they are used."""
    group = CommandGroup(
        name="sluicegate",
        params=[config_option(), *server_options()],
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"], "color": color_choice()},
    )
    return click.version_option(__version__, message="%(prog)s %(version)s")(group)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit: 0 success, 1 failure, 2 usage error, 130 interrupted."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Each error is one line on standard error, never a traceback.

    Returns:
        The exit code.
    """
    if is_debugging():
        return _invoke(arguments)
    if os.environ.get(COMPLETION_VARIABLE):
        with suppress(Exception):  # a message would appear in the middle of the line that is typed
            return _invoke(arguments)
        return FAILED
    try:
        return _invoke(arguments)
    except SluicegateError as error:
        return _fail(error.message)
    except OSError as error:
        return _fail(": ".join(str(part) for part in (error.filename, error.strerror) if part))
    except Exception as error:
        return _fail(unexpected(error))


def _invoke(arguments: Sequence[str] | None) -> int:
    try:
        # Without its stand-alone mode, click returns the argument of `ctx.exit`.
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
        report("error", line)
    return FAILED
