"""`sluicegate ledger`: lists the URLs, credentials and tokens that recipients received."""

from __future__ import annotations

from typing import Any

import click

from sluicegate._util.clock import iso_utc
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import flags, given, items
from sluicegate.cli.options import (
    limit_option,
    name_option,
    table_option,
    time_options,
)
from sluicegate.cli.output import columns, json_option, print_json

_HEADER = ("VENDED", "RECIPIENT", "ASSET", "NAME", "KIND", "EXPIRES", "ADDRESS", "REQUEST", "SCOPE")


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(ledger)


@click.command()
@name_option("recipient", "Only entries of this recipient.")
@name_option("share", "Only entries of this share.")
@table_option("Only entries of")
@click.option(
    "--kind",
    type=click.Choice(["credentials", "urls", "hadoop-token", "iceberg-config"]),
    help="Only entries of this kind.",
)
@time_options("Vended")
@click.option("--active", is_flag=True, help="Only entries that have not expired.")
@limit_option("entries")
@json_option
@click.pass_context
def ledger(ctx: click.Context, /, active: bool, as_json: bool, **wanted: Any) -> None:
    """List the URLs, temporary credentials and tokens that recipients received, newest first.

    \b
    Examples:
      sluicegate ledger --recipient acme --since 24h
      sluicegate ledger --table sales.eu.orders --active --json
    """
    times = {name: iso_utc(at) for name in ("since", "until") if (at := wanted[name]) is not None}
    query = [*given(**{**wanted, **times, "limit": None}), *flags(active=active)]
    entries = manage(ctx, lambda target: items(target, "/ledger", query, limit=wanted["limit"]))
    if as_json:
        print_json(entries)
        return
    if not entries:
        click.echo("no entries found", err=True)
        return
    for line in columns(_HEADER, [_row(each) for each in entries]):
        click.echo(line)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        entry["given_at"],
        entry["recipient"],
        entry["asset"] or "table",
        ".".join(entry[part] for part in ("share", "schema", "table")),
        "/".join(entry[part] for part in ("kind", "cloud", "binding") if entry[part]),
        entry["expires_at"] or "never",
        entry["address"] or "-",
        entry["request_id"] or "-",
        _opened(entry),
    )


def _opened(entry: dict[str, Any]) -> str:
    files, locations = entry["files"], entry["locations"]
    if not files:
        return ", ".join(locations)
    return f"{files} {'file' if files == 1 else 'files'} of {locations[0]}"
