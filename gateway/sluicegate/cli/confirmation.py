"""Prompts for confirmation before something is removed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from sluicegate._util.printable import printable
from sluicegate.api.errors import InvalidRequest

yes_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--yes", "-y", is_flag=True, help="Do not prompt for confirmation."
)
"""Adds `--yes`, as the parameter `yes`."""


def can_prompt() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin.isatty()


def confirm(ctx: click.Context, question: str, *, yes: bool, required: bool = False) -> None:
    """Prompt for confirmation, if standard input is a terminal.

    The command ends if the answer is no.
    """
    if yes:
        return
    question = printable(question)
    if not can_prompt():
        if required:
            raise InvalidRequest(
                f"{question} Nobody can answer, because standard input is not a terminal: add --yes"
            )
        return
    if not click.confirm(question, err=True):
        click.echo("nothing changed", err=True)
        ctx.exit(1)
