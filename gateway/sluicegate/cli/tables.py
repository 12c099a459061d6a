"""`sluicegate tables`: what the configured catalogs offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.errors import SluicegateError

if TYPE_CHECKING:
    from sluicegate.api import Catalog
    from sluicegate.config import Settings


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(tables)


@click.command()
@click.argument("catalog", required=False)
@click.argument("schema", required=False)
@click.pass_context
def tables(ctx: click.Context, catalog: str | None, schema: str | None) -> None:
    """List the tables of all catalogs, of one CATALOG, or of one SCHEMA of it.

    Each line is catalog, schema, table and the identifier that a shares file takes, separated by
    tabs. A catalog that fails is told on standard error and does not stop the others.
    """
    if not run_async(_list(load_settings(ctx), catalog, schema)):
        ctx.exit(1)


async def _list(settings: Settings, wanted: str | None, schema: str | None) -> bool:
    """Print the tables; whether all catalogs could be read."""
    from sluicegate.registry import Instances, Registry, configure
    from sluicegate.registry.contexts import NoLinks

    registry = Registry.load(settings)
    instances = Instances(registry, configure(settings, registry), links=NoLinks)
    complete = True
    try:
        names = [wanted] if wanted else list(instances.catalogs)
        for name in names:
            catalog = instances.catalog(name)
            complete = await _print_catalog(name, catalog, schema) and complete
    finally:
        await instances.aclose()
    return complete


async def _print_catalog(name: str, catalog: Catalog, schema: str | None) -> bool:
    try:
        schemas = [schema] if schema else await catalog.list_schemas()
    except SluicegateError as error:
        return _failed(f"catalog '{name}'", error)
    if not schemas:
        click.echo(f"note: catalog '{name}' lists no schemas", err=True)
    complete = True
    for each in schemas:
        try:
            for table in await catalog.list_tables(each):
                click.echo("\t".join((name, each, table, catalog.identifier(each, table))))
        except SluicegateError as error:
            complete = _failed(f"schema '{each}' of catalog '{name}'", error)
    return complete


def _failed(place: str, error: SluicegateError) -> bool:
    # Operators are told the reasons that recipients are not.
    reason = f": {error.detail}" if error.detail else ""
    click.echo(f"error: {place}: {error.message}{reason}", err=True)
    return False
