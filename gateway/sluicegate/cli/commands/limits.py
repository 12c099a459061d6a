"""`sluicegate limits`: shows the limits of recipients, and how much of them is used today."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from sluicegate.api.errors import NotFound
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import given, items
from sluicegate.cli.options import name_option
from sluicegate.cli.output import columns, json_option, print_json

_HEADER = ("RECIPIENT", "REQUESTS/MIN", "BURST", "CONCURRENT", "FILES", "BYTES")


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(limits)


@click.command()
@name_option("recipient", "Only this recipient.")
@click.option(
    "--day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Use on this day (UTC).  [default: today]",
)
@json_option
@click.pass_context
def limits(ctx: click.Context, /, recipient: str | None, day: datetime | None, as_json: bool) -> None:
    """Show the limits of recipients, and the files and bytes that they were offered on a day.

    Use is counted for recipients with a limit of files or bytes. It is a few seconds old.

    \b
    Examples:
      sluicegate limits
      sluicegate limits --recipient acme --day 2026-11-21 --json
    """
    when = (datetime.now(UTC) if day is None else day).date()
    query = given(day=when.isoformat())
    found = manage(ctx, lambda target: items(target, "/limits", query))
    if recipient is not None:
        found = [_named(found, recipient)]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("no recipients found", err=True)
        return
    for line in columns(_HEADER, [_row(each) for each in found]):
        click.echo(line)


def _named(found: list[dict[str, Any]], recipient: str) -> dict[str, Any]:
    from sluicegate.config.yaml import nearest
    from sluicegate.database.names import name_key

    for each in found:
        if name_key(each["recipient"]) == name_key(recipient):
            return each
    names = [each["recipient"] for each in found]
    raise NotFound(f"there is no recipient '{recipient}'{nearest(recipient, names)}")


def _row(use: dict[str, Any]) -> tuple[str, ...]:
    allowed = use["limits"]
    return (
        use["recipient"],
        _number(allowed["requests_per_minute"], "unlimited"),
        _number(allowed["burst"], "-"),
        _number(allowed["concurrent_requests"], "-"),
        _part(use["files"], allowed["files_per_day"]),
        _part(use["bytes"], allowed["bytes_per_day"]),
    )


def _number(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:,}"


def _part(used: int | None, limit: int | None) -> str:
    if used is None:
        return "unlimited"
    return f"{used:,}" if limit is None else f"{used:,} of {limit:,}"
