"""`sluicegate audit`: searches, verifies and exports the audit log."""

from __future__ import annotations

import click

from sluicegate.cli.commands.audit.export import export
from sluicegate.cli.commands.audit.search import search
from sluicegate.cli.commands.audit.verify import verify


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(audit)


@click.group()
def audit() -> None:
    """Search, verify and export the audit log.

    \b
    Examples:
      sluicegate audit search --recipient acme --since 7d
      sluicegate audit verify
    """


audit.add_command(search)
audit.add_command(verify)
audit.add_command(export)
