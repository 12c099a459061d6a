"""Output for programs: the option `--json`, which every command with results has."""

from __future__ import annotations

import json
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""Adds `--json`, as the parameter `as_json`. docs/operators/commands.md documents the shapes."""


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
