"""The options that select what commands list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import click

from sluicegate.cli.completion import complete_names
from sluicegate.cli.times import MOMENT

Function = Callable[..., Any]
Option = Callable[[Function], Function]


def name_option(kind: Literal["recipient", "share"], text: str) -> Option:
    """The option `--recipient` or `--share`, which completes names."""
    return click.option(f"--{kind}", metavar="NAME", shell_complete=complete_names(kind), help=text)


def table_option(listed: str) -> Option:
    """The option `--table`."""
    return click.option(
        "--table", metavar="NAME", help=f"{listed} TABLE, SCHEMA.TABLE or SHARE.SCHEMA.TABLE."
    )


def time_options(done: str) -> Option:
    """The options `--since` and `--until`."""

    def add(command: Function) -> Function:
        until = click.option("--until", type=MOMENT, metavar="TIME", help=f"{done} before this time.")
        text = f"{done} at or after this time (7d: ago)."
        since = click.option("--since", type=MOMENT, metavar="TIME", help=text)
        return since(until(command))

    return add


def limit_option(listed: str, most: int | None = None) -> Option:
    """The option `--limit`."""
    return click.option(
        "--limit",
        type=click.IntRange(1, most),
        default=1000,
        show_default=True,
        help=f"Maximum number of {listed}.",
    )
