"""`sluicegate tables`: lists the tables, or other assets, of the configured catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import click

from sluicegate.api.errors import NotFound, SluicegateError
from sluicegate.cli.completion import complete_catalogs
from sluicegate.cli.context import is_debugging, load_settings, run_async, unexpected
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.terminal import report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sluicegate.api import AssetKind, Catalog, ListedAsset, ListedTable
    from sluicegate.config import Settings


_Show: TypeAlias = Callable[[str, str, str, str], None]
_ASSETS: Mapping[str, AssetKind] = {"volume": "volume", "model": "model", "skill": "skill"}


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(tables)


@click.command()
@click.argument("catalog", required=False, shell_complete=complete_catalogs())
@click.argument("schema", required=False)
@click.option(
    "--kind",
    type=click.Choice(["table", "volume", "model", "skill"]),
    default="table",
    show_default=True,
    help="What to list.",
)
@json_option
@click.pass_context
def tables(
    ctx: click.Context, catalog: str | None, schema: str | None, kind: str, as_json: bool
) -> None:
    """List the tables, or other assets, of all catalogs, of one CATALOG, or of one SCHEMA of it.

    Each line has a catalog, a schema, a table or asset, and its identifier for a shares file, separated
    by tabs. Standard error reports catalogs that fail, without stopping the others, and what is left
    out if its entire catalog or schema is shared.

    \b
    Examples:
      sluicegate tables
      sluicegate tables lake eu
      sluicegate tables lake eu --kind volume
      sluicegate tables lake --json
    """
    found: list[dict[str, str]] = []
    show = _collect(found) if as_json else _print_line
    complete = run_async(_list(load_settings(ctx), catalog, schema, _ASSETS.get(kind), show))
    if as_json:
        print_json(found)
    if not complete:
        ctx.exit(1)


def _print_line(catalog: str, schema: str, name: str, identifier: str) -> None:
    click.echo("\t".join((catalog, schema, name, identifier)))


def _collect(found: list[dict[str, str]]) -> _Show:
    def collect(catalog: str, schema: str, name: str, identifier: str) -> None:
        found.append({"catalog": catalog, "schema": schema, "name": name, "identifier": identifier})

    return collect


async def _list(
    settings: Settings,
    wanted: str | None,
    schema: str | None,
    kind: AssetKind | None,
    show: _Show,
) -> bool:
    """Show the tables, and return whether all catalogs were read."""
    from sluicegate.plugins import Instances, Registry, configure
    from sluicegate.plugins.context import NoLinks

    registry = Registry.load(settings)
    instances = Instances(registry, configure(settings, registry), links=NoLinks)
    complete = True
    try:
        names = list(instances.catalogs)
        if wanted is not None:
            _check_catalog(wanted, names)
            names = [wanted]
        for name in names:
            catalog = instances.catalog(name)
            try:
                complete = await _print_catalog(name, catalog, schema, kind, show) and complete
            except Exception as error:
                if is_debugging():
                    raise
                complete = False
                report("error", f"catalog '{name}': {unexpected(error)}")
    finally:
        await instances.aclose()
    return complete


def _check_catalog(name: str, known: Sequence[str]) -> None:
    from sluicegate.config.yaml import nearest

    if name not in known:
        raise NotFound(f"there is no catalog named '{name}' in the configuration{nearest(name, known)}")


async def _print_catalog(
    name: str, catalog: Catalog, schema: str | None, kind: AssetKind | None, show: _Show
) -> bool:
    try:
        schemas = [schema] if schema else await catalog.list_schemas()
    except SluicegateError as error:
        return _failed(f"catalog '{name}'", error)
    if not schemas:
        report("note", f"catalog '{name}': 0 schemas: {catalog.reason_for_no_schemas}")
    if schema is None:
        _print_unshared_schemas(name, schemas)
    complete = True
    for each in schemas:
        try:
            await _print_schema(name, catalog, each, kind, show)
        except SluicegateError as error:
            complete = _failed(f"schema '{each}' of catalog '{name}'", error)
    return complete


async def _print_schema(
    name: str, catalog: Catalog, schema: str, kind: AssetKind | None, show: _Show
) -> None:
    if kind is not None:
        assets = await catalog.listed_assets(kind, schema)
        for asset in sorted(assets, key=attrgetter("name")):
            identifier = catalog.asset_identifier(kind, schema, asset.name)
            show(name, schema, asset.name, identifier)
        _print_left_out_assets(name, schema, kind, assets)
        return
    listed = await catalog.listed_tables(schema)
    if not listed:
        place = f"schema '{schema}' of catalog '{name}'"
        report("note", f"{place}: 0 tables: {catalog.reason_for_none}")
    for table in sorted(listed, key=attrgetter("name")):
        show(name, schema, table.name, catalog.identifier(schema, table.name))
    _print_left_out(name, schema, listed)


def _print_unshared_schemas(catalog: str, listed: Sequence[str]) -> None:
    """Print the schemas that are left out if the entire catalog is shared with default settings."""
    from sluicegate.access.selection import select_schemas
    from sluicegate.api import SharedCatalogSource

    for left_out in select_schemas(listed, SharedCatalogSource(catalog)).left_out:
        place = f"schema {left_out.name!r} of catalog '{catalog}'"
        report("note", f"{place} is not shared by 'from': {left_out.reason}")


def _print_left_out(catalog: str, schema: str, listed: Sequence[ListedTable]) -> None:
    """Print the tables that are left out if the entire schema is shared with default settings."""
    from sluicegate.access.selection import select_tables
    from sluicegate.api import SharedSchemaSource

    for left_out in select_tables(listed, SharedSchemaSource(catalog, schema)).left_out:
        place = f"table {left_out.name!r} of schema '{schema}' of catalog '{catalog}'"
        report("note", f"{place} is not shared by 'from': {left_out.reason}")


def _print_left_out_assets(
    catalog: str, schema: str, kind: AssetKind, listed: Sequence[ListedAsset]
) -> None:
    from sluicegate.access.selection import select_assets
    from sluicegate.api import SharedSchemaSource

    for left_out in select_assets(kind, listed, SharedSchemaSource(catalog, schema)).left_out:
        place = f"{kind} {left_out.name!r} of schema '{schema}' of catalog '{catalog}'"
        report("note", f"{place} is not shared by 'from': {left_out.reason}")


def _failed(place: str, error: SluicegateError) -> bool:
    # Operators see the details that recipients never see.
    reason = f": {error.detail}" if error.detail else ""
    report("error", f"{place}: {error.message}{reason}")
    return False
