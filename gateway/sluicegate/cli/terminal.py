"""Colours and progress, for people only: output to files and pipes has neither."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Self

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


_LABELS: Mapping[str, str] = {"error": "red", "warning": "yellow", "note": "cyan"}
_CLEAR_LINE = "\r\x1b[K"


def color_choice() -> bool | None:
    """Whether to print colours, or `None` to print them in terminals.

    Sources: NO_COLOR; FORCE_COLOR.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def report(label: Literal["error", "warning", "note"], text: str) -> None:
    """Print a line with a label on standard error."""
    shown = click.style(f"{label}:", fg=_LABELS[label])
    click.echo(f"{shown} {text}", err=True, color=color_choice())


class Progress:
    """A line in the terminal that shows how much is done, and disappears at the end.

    Nothing is shown if standard error is not a terminal, or is one that cannot clear a line.
    """

    def __init__(self, title: str, *, hidden: bool = False) -> None:
        self._title = title
        self._shown = not hidden and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._write("")

    def update(self, done: int, total: int) -> None:
        """Show the number of items that are done."""
        self._write(f"{self._title}: {done} of {total}")

    def _write(self, text: str) -> None:
        if self._shown:
            sys.stderr.write(f"{_CLEAR_LINE}{text}")
            sys.stderr.flush()
