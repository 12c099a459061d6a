"""`sluicegate tables`: lists the tables of the configured catalogs."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import click

from sluicegate.api.errors import SluicegateError
from sluicegate.cli.context import is_debugging, load_settings, run_async, unexpected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sluicegate.api import Catalog, ListedTable
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

    Each line has a catalog, a schema, a table, and its identifier for a shares file, separated by tabs.
    Standard error reports catalogs that fail, without stopping the others, and the schemas and tables
    that are left out if their entire catalog or schema is shared.

    \b
    Examples:
      sluicegate tables
      sluicegate tables lake eu
    """
    if not run_async(_list(load_settings(ctx), catalog, schema)):
        ctx.exit(1)


async def _list(settings: Settings, wanted: str | None, schema: str | None) -> bool:
    """Print the tables, and return whether all catalogs were read."""
    from sluicegate.plugins import Instances, Registry, configure
    from sluicegate.plugins.context import NoLinks

    registry = Registry.load(settings)
    instances = Instances(registry, configure(settings, registry), links=NoLinks)
    complete = True
    try:
        names = [wanted] if wanted else list(instances.catalogs)
        for name in names:
            catalog = instances.catalog(name)
            try:
                complete = await _print_catalog(name, catalog, schema) and complete
            except Exception as error:
                if is_debugging():
                    raise
                complete = False
                click.echo(f"error: catalog '{name}': {unexpected(error)}", err=True)
    finally:
        await instances.aclose()
    return complete


async def _print_catalog(name: str, catalog: Catalog, schema: str | None) -> bool:
    try:
        schemas = [schema] if schema else await catalog.list_schemas()
    except SluicegateError as error:
        return _failed(f"catalog '{name}'", error)
    if not schemas:
        click.echo(f"note: catalog '{name}': 0 schemas: {catalog.reason_for_no_schemas}", err=True)
    if schema is None:
        _print_unshared_schemas(name, schemas)
    complete = True
    for each in schemas:
        try:
            listed = await catalog.listed_tables(each)
        except SluicegateError as error:
            complete = _failed(f"schema '{each}' of catalog '{name}'", error)
            continue
        if not listed:
            place = f"schema '{each}' of catalog '{name}'"
            click.echo(f"note: {place}: 0 tables: {catalog.reason_for_none}", err=True)
        for table in sorted(listed, key=attrgetter("name")):
            click.echo("\t".join((name, each, table.name, catalog.identifier(each, table.name))))
        _print_left_out(name, each, listed)
    return complete


def _print_unshared_schemas(catalog: str, listed: Sequence[str]) -> None:
    """Print the schemas that are left out if the entire catalog is shared with default settings."""
    from sluicegate.access.selection import select_schemas
    from sluicegate.api import SharedCatalogSource

    for left_out in select_schemas(listed, SharedCatalogSource(catalog)).left_out:
        place = f"schema {left_out.name!r} of catalog '{catalog}'"
        click.echo(f"note: {place} is not shared by 'from': {left_out.reason}", err=True)


def _print_left_out(catalog: str, schema: str, listed: Sequence[ListedTable]) -> None:
    """Print the tables that are left out if the entire schema is shared with default settings."""
    from sluicegate.access.selection import select_tables
    from sluicegate.api import SharedSchemaSource

    for left_out in select_tables(listed, SharedSchemaSource(catalog, schema)).left_out:
        place = f"table {left_out.name!r} of schema '{schema}' of catalog '{catalog}'"
        click.echo(f"note: {place} is not shared by 'from': {left_out.reason}", err=True)


def _failed(place: str, error: SluicegateError) -> bool:
    # Operators see the details that recipients never see.
    reason = f": {error.detail}" if error.detail else ""
    click.echo(f"error: {place}: {error.message}{reason}", err=True)
    return False
