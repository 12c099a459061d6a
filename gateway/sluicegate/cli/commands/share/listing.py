"""`sluicegate share list`."""

from __future__ import annotations

from typing import Any

import click

from sluicegate.cli.completion import complete_names
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import flags, get, items, path_of
from sluicegate.cli.output import columns, json_option, print_json


@click.command()
@click.argument("name", shell_complete=complete_names("share"))
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Show the share NAME: who can read it, and its schemas, tables and assets with their options.

    The output has the keys of a shares file, without options that have their default values. With
    --json, it has all options, and the ids that recipients see.

    \b
    Examples:
      sluicegate share show sales
      sluicegate share show sales --json
    """
    from sluicegate.access.shares_file.export import yaml_text

    path = path_of("/shares/{}/details", name)
    content = manage(ctx, lambda target: get(target, path, flags(complete=as_json)))
    if as_json:
        print_json(content)
    else:
        click.echo(yaml_text(content), nl=False)


_HEADER = ("NAME", "SCHEMAS", "TABLES", "ASSETS", "FROM", "RECIPIENTS", "COMMENT")


@click.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List shares with what they contain and who can read them.

    TABLES and ASSETS count individual ones. FROM names the catalogs, and schemas of catalogs, that are
    shared entirely, with what they contain at each request.

    \b
    Examples:
      sluicegate share list
      sluicegate share list --json
    """
    found = manage(ctx, lambda target: items(target, "/shares"))
    if as_json:
        print_json(found)
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


def _row(summary: dict[str, Any]) -> tuple[str, ...]:
    return (
        summary["name"],
        *(str(count) for count in (len(summary["schemas"]), summary["tables"], summary["assets"])),
        ", ".join(_place(source) for source in summary["from"]) or "-",
        ", ".join(summary["recipients"]) or "-",
        summary["comment"] or "",
    )


def _place(source: dict[str, Any]) -> str:
    schema = source["schema"]
    return f"{source['catalog']}:{schema}" if schema else str(source["catalog"])
