"""Prints the difference between a shares file and the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sluicegate.access.shares_file.diff import Difference

_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "~": "yellow"}


def print_difference(difference: Difference) -> None:
    """Print a difference, with colours if standard output is a terminal."""
    from sluicegate.access.shares_file.diff import render

    for line in render(difference):
        click.secho(line, fg=_COLOURS.get(line[0]))


def print_result(difference: Difference, *, applied: bool) -> None:
    """Print the number of changes, if there are any."""
    if difference.changes:
        click.echo(f"{_count(len(difference.changes), 'change')} {'made' if applied else 'to make'}")


def difference_as_json(
    difference: Difference, *, applied: bool, warnings: Sequence[str]
) -> dict[str, Any]:
    """The output of `sluicegate apply --json`."""
    from sluicegate.access.shares_file.diff import describe

    return {
        "applied": applied,
        "changes": list(describe(difference)),
        "untouched": [{"kind": each.kind, "name": list(each.names)} for each in difference.untouched],
        "warnings": list(warnings),
    }


def describe_counts(difference: Difference) -> str:
    """Such as `3 changes with 1 removal`."""
    removals = _count(difference.removals, "removal")
    return f"{_count(len(difference.changes), 'change')} with {removals}"


def _count(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"
