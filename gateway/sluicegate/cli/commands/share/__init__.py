"""`sluicegate share`: lists, shows and exports shares."""

from __future__ import annotations

import click

from sluicegate.cli.commands.share.export import export
from sluicegate.cli.commands.share.list import list_
from sluicegate.cli.commands.share.show import show


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(share)


@click.group()
def share() -> None:
    """List, show and export shares. To change them, run `sluicegate apply`.

    \b
    Examples:
      sluicegate share list
      sluicegate share export --recipients > shares.yaml
    """


share.add_command(list_)
share.add_command(show)
share.add_command(export)
