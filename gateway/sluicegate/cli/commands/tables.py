"""`sluicegate tables`: lists the tables, or other assets, of the configured catalogs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import click

from sluicegate.api.errors import NotFound, SluicegateError
from sluicegate.cli.completion import complete_catalogs
from sluicegate.cli.context import is_debugging, unexpected
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, Target, given, items, pages, path_of
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.terminal import report

_Show: TypeAlias = Callable[[str, str, str, str], None]


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
    complete = manage(ctx, lambda target: _Lister(target, kind, show).list(catalog, schema))
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


@dataclass(frozen=True, slots=True)
class _Lister:
    """Shows what catalogs contain, and reports catalogs and schemas that fail."""

    target: Target
    kind: str
    show: _Show

    async def list(self, wanted: str | None, schema: str | None) -> bool:
        """Show the tables, and return whether all catalogs were read."""
        names = [each["name"] for each in await items(self.target, "/catalogs")]
        if wanted is not None:
            _check_catalog(wanted, names)
            names = [wanted]
        return all([await self._catalog(name, schema) for name in names])

    async def _catalog(self, name: str, schema: str | None) -> bool:
        try:
            schemas = [schema] if schema else [each async for each in self._schemas(name)]
        except SluicegateError as error:
            return _failed(f"catalog '{name}'", error)
        complete = True
        for each in schemas:
            try:
                await self._schema(name, each)
            except SluicegateError as error:
                complete = _failed(f"schema '{each}' of catalog '{name}'", error)
        return complete

    async def _schemas(self, name: str) -> AsyncIterator[str]:
        path = path_of("/catalogs/{}/schemas", name)
        async for page in pages(self.target, path):
            if "reason" in page:
                report("note", f"catalog '{name}': 0 schemas: {page['reason']}")
            _report_left_out("schema", f"catalog '{name}'", page["items"])
            for each in page["items"]:
                yield each["name"]

    async def _schema(self, name: str, schema: str) -> None:
        path = path_of("/catalogs/{}/assets", name)
        place = f"schema '{schema}' of catalog '{name}'"
        async for page in pages(self.target, path, given(schema=schema, kind=self.kind)):
            if "reason" in page:
                report("note", f"{place}: 0 tables: {page['reason']}")
            for each in page["items"]:
                self.show(name, schema, each["name"], each["identifier"])
            _report_left_out(self.kind, place, page["items"])


def _check_catalog(name: str, known: Sequence[str]) -> None:
    from sluicegate.config.yaml import nearest

    if name not in known:
        raise NotFound(f"there is no catalog named '{name}' in the configuration{nearest(name, known)}")


def _report_left_out(kind: str, place: str, listed: Sequence[Content]) -> None:
    """Report what is left out if the entire catalog or schema is shared with default settings."""
    for each in listed:
        if each["left_out"] is not None:
            of = f"{kind} {each['name']!r} of {place}"
            report("note", f"{of} is not shared by 'from': {each['left_out']}")


def _failed(place: str, error: SluicegateError) -> bool:
    defect = error.__cause__
    if isinstance(defect, Exception) and not isinstance(defect, SluicegateError | TimeoutError):
        if is_debugging():
            raise defect
        report("error", f"{place}: {unexpected(defect)}")
        return False
    # Operators see the details that recipients never see.
    reason = f": {error.detail}" if error.detail else ""
    report("error", f"{place}: {error.message}{reason}")
    return False
