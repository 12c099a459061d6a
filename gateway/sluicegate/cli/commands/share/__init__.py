"""`sluicegate share`: lists, shows and exports shares."""

from __future__ import annotations

import click

from sluicegate.cli.commands.share.listing import list_, show
from sluicegate.cli.completion import complete_names
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import flags, get
from sluicegate.cli.output import json_option, print_json


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_names("share"))
@click.option(
    "--recipients",
    is_flag=True,
    help="Also export recipients with all of their grants: those of the shares NAME, or all.",
)
@click.option(
    "--ids",
    is_flag=True,
    help="Also export the ids of tables, so that clients recognize them at another gateway.",
)
@json_option
@click.pass_context
def export(
    ctx: click.Context, names: tuple[str, ...], recipients: bool, ids: bool, as_json: bool
) -> None:
    """Print the shares NAME, or all shares, as a shares file that `sluicegate apply` accepts.

    The output declares what the database contains, without options that have their default values. It
    never contains credentials.

    \b
    Examples:
      sluicegate share export sales
      sluicegate share export --recipients > shares.yaml
    """
    from sluicegate.access.shares_file.export import yaml_text

    query = [*(("share", name) for name in names), *flags(recipients=recipients, ids=ids)]
    content = manage(ctx, lambda target: get(target, "/export", query))
    if as_json:
        print_json(content)
    else:
        click.echo(yaml_text(content), nl=False)


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(share)


@click.group()
def share() -> None:
    """List, show and export shares. To change them, run `sluicegate apply`.

    \b
    Examples:
      sluicegate share list
      sluicegate share export --recipients > shares.yaml
    """


share.add_command(list_)
share.add_command(show)
share.add_command(export)
