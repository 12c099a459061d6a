"""`sluicegate apply`: makes the database match a shares file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store

if TYPE_CHECKING:
    from sluicegate.access.shares_file.diff import Difference
    from sluicegate.access.shares_file.read import SharesFile
    from sluicegate.config import Settings


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(apply)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show the differences without applying them.")
@click.option("--offline", is_flag=True, help="Do not check in the catalogs that the sources exist.")
@click.option("--prune", is_flag=True, help="Remove shares and recipients that FILE does not contain.")
@click.pass_context
def apply(ctx: click.Context, file: Path, dry_run: bool, offline: bool, prune: bool) -> None:
    """Apply the shares file FILE: show the differences, then apply them in one transaction.

    Shares and recipients in FILE are replaced by their definitions there. Others do not change. To
    issue the first token of a new recipient, run `sluicegate recipient rotate`.

    The command looks up each table and schema in its catalog. If one does not exist, or the gateway is
    not allowed to read it, the command prints a warning on standard error and shares it anyway.

    \b
    Examples:
      sluicegate apply shares.yaml --dry-run
      sluicegate apply shares.yaml --prune
    """
    from sluicegate.access.shares_file.diff import render
    from sluicegate.access.shares_file.read import read_shares_file

    settings = load_settings(ctx)
    shares = read_shares_file(file, settings.catalogs)
    if not offline:
        for line in run_async(_warnings(settings, shares)):
            click.echo(f"warning: {line}", err=True)
    difference = run_async(_apply(settings, shares, prune=prune, dry_run=dry_run))
    for line in render(difference):
        click.echo(line)
    if difference.changes:
        click.echo(f"{_count(len(difference.changes))} {'to make' if dry_run else 'made'}")


async def _warnings(settings: Settings, shares: SharesFile) -> list[str]:
    """The problems that the catalogs report for the sources."""
    from sluicegate.access.shares_file.catalog_check import check_sources
    from sluicegate.api.errors import ConfigurationError
    from sluicegate.plugins import Instances, Registry, configure
    from sluicegate.plugins.catalogs.guarded import GuardedCatalog
    from sluicegate.plugins.context import NoLinks

    try:
        registry = Registry.load(settings)
        instances = Instances(
            registry,
            configure(settings, registry),
            links=NoLinks,
            guard=lambda entry, catalog: GuardedCatalog(entry.name, catalog, entry.config),
        )
    except ConfigurationError as error:
        return [f"the sources were not checked: {line}" for line in error.message.splitlines()]
    try:
        return await check_sources(shares, instances.catalog)
    finally:
        await instances.aclose()


async def _apply(settings: Settings, shares: SharesFile, *, prune: bool, dry_run: bool) -> Difference:
    from sluicegate.access.shares_file.apply import apply_shares_file

    async with open_store(settings) as store:
        return await apply_shares_file(store, shares, prune=prune, dry_run=dry_run)


def _count(changes: int) -> str:
    return "1 change" if changes == 1 else f"{changes} changes"
