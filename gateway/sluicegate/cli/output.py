"""Output for programs: the option `--json`, which every command with results has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click

from sluicegate._util.printable import printable


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The header and rows as lines with aligned columns. The last column is not padded.

    Invisible characters are escaped.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(len(header) - 1)]
    for row in (header, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join((*cells, row[-1])).rstrip()


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""Adds `--json`, as the parameter `as_json`. docs/operators/commands.md documents the shapes."""


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
