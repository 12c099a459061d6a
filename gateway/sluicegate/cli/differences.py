"""Prints the difference between a shares file and the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from sluicegate._util.printable import printable

_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "~": "yellow"}


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """The changes that a shares file makes."""

    lines: Sequence[str]
    changes: Sequence[Any]
    untouched: Sequence[Any]
    removals: int
    warnings: Sequence[str]
    tag: str


def print_difference(difference: ShownDifference) -> None:
    """Print a difference, with colours if standard output is a terminal."""
    for line in difference.lines:
        click.secho(printable(line), fg=_COLOURS.get(line[:1]))


def print_result(difference: ShownDifference, *, applied: bool) -> None:
    """Print the number of changes, if there are any."""
    if difference.changes:
        click.echo(f"{_count(len(difference.changes), 'change')} {'made' if applied else 'to make'}")


def difference_as_json(
    difference: ShownDifference, *, applied: bool, warnings: Sequence[str]
) -> dict[str, Any]:
    """The output of `sluicegate apply --json`."""
    return {
        "applied": applied,
        "changes": list(difference.changes),
        "untouched": list(difference.untouched),
        "warnings": list(warnings),
    }


def describe_counts(difference: ShownDifference) -> str:
    """Such as `3 changes with 1 removal`."""
    removals = _count(difference.removals, "removal")
    return f"{_count(len(difference.changes), 'change')} with {removals}"


def _count(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"
