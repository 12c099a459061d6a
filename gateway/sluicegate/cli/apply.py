"""`sluicegate apply`: make the database say what a shares file says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store

if TYPE_CHECKING:
    from sluicegate.access.difference import Difference
    from sluicegate.access.reading import SharesFile
    from sluicegate.config import Settings


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(apply)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show the difference and change nothing.")
@click.option("--prune", is_flag=True, help="Remove the shares and recipients that FILE does not name.")
@click.pass_context
def apply(ctx: click.Context, file: Path, dry_run: bool, prune: bool) -> None:
    """Apply the shares file FILE: show the difference, then make it so in one transaction.

    Shares and recipients that FILE names become exactly what it says; others stay as they are. A
    recipient that is new gets its first token by `sluicegate recipient rotate`.
    """
    from sluicegate.access.difference import render
    from sluicegate.access.reading import read_shares_file

    settings = load_settings(ctx)
    shares = read_shares_file(file, settings.catalogs)
    difference = run_async(_apply(settings, shares, prune=prune, dry_run=dry_run))
    for line in render(difference):
        click.echo(line)
    if difference.changes:
        click.echo(f"{_count(len(difference.changes))} {'to make' if dry_run else 'made'}")


async def _apply(settings: Settings, shares: SharesFile, *, prune: bool, dry_run: bool) -> Difference:
    from sluicegate.access.apply import apply_shares_file

    async with open_store(settings) as store:
        return await apply_shares_file(store, shares, prune=prune, dry_run=dry_run)


def _count(changes: int) -> str:
    return "1 change" if changes == 1 else f"{changes} changes"
