"""Prints activation links for `sluicegate recipient create` and `rotate`."""

from __future__ import annotations

from typing import Any

import click

from sluicegate.cli.output import print_json


def print_link(made: dict[str, Any], *, as_json: bool = False) -> None:
    """Print a link on standard output; what to do with it, on standard error."""
    if as_json:
        print_json({name: made[name] for name in ("recipient", "activation_url", "expires_at")})
        return
    click.echo(made["activation_url"])
    click.echo(
        f"{made['recipient']}: send this link over a private channel; it works once, until "
        f"{made['expires_at']}",
        err=True,
    )
