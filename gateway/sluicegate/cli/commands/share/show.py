"""`sluicegate share show`."""

from __future__ import annotations

import click

from sluicegate.cli.completion import complete_names
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import flags, get, path_of
from sluicegate.cli.output import json_option, print_json


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
