"""`sluicegate recipient`: creates, shows, rotates, revokes, restores and deletes recipients."""

from __future__ import annotations

import click

from sluicegate.cli.commands.recipient.access import delete, restore, revoke
from sluicegate.cli.commands.recipient.listing import list_, show
from sluicegate.cli.commands.recipient.profiles import create, rotate


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(recipient)


@click.group()
def recipient() -> None:
    """Create, show, rotate, revoke, restore and delete recipients.

    \b
    Examples:
      sluicegate recipient create acme
      sluicegate recipient list
    """


for command in (create, delete, list_, restore, revoke, rotate, show):
    recipient.add_command(command)
