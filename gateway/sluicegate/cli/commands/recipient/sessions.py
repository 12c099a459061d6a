"""Ends the storage sessions of a recipient, for `sluicegate recipient revoke --sessions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import path_of


def end_sessions(ctx: click.Context, name: str, *, quiet: bool) -> list[dict[str, Any]]:
    """End a recipient's sessions in every storage that vends, and print the outcomes."""
    path = path_of("/recipients/{}/sessions/end", name)
    answer = manage(ctx, lambda target: target.send("POST", path))
    outcomes: list[dict[str, Any]] = answer.content["items"]
    for outcome in outcomes:
        _print(outcome, quiet=quiet)
    if not outcomes and not quiet:
        click.echo("no configured storage vends credentials: there are no sessions to end")
    return outcomes


def are_complete(outcomes: Sequence[dict[str, Any]]) -> bool:
    """Whether no storage failed. Where sessions only expire, nothing could be done."""
    return not any(outcome["error"] and outcome["supported"] for outcome in outcomes)


def outcomes_as_json(outcomes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes as values for JSON."""
    return [
        {name: outcome[name] for name in ("storage", "ended", "instructions", "error")}
        for outcome in outcomes
    ]


def _print(outcome: dict[str, Any], *, quiet: bool) -> None:
    place = f"storage '{outcome['storage']}'"
    if outcome["error"] is not None:
        click.echo(f"{place}: {outcome['error']}", err=True)
    elif outcome["instructions"] is not None and not quiet:
        done = "sessions ended" if outcome["ended"] else "an administrator must end the sessions"
        click.echo(f"{place}: {done}\n{outcome['instructions']}")
