"""`sluicegate ledger`: lists the URLs, credentials and tokens that recipients received."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sluicegate._util.clock import epoch_ms, iso_utc
from sluicegate.cli.completion import complete_names
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.moments import MOMENT
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.vending.entries import LedgerEntry
    from sluicegate.vending.ledger_search import LedgerQuery

_HEADER = ("VENDED", "RECIPIENT", "ASSET", "NAME", "KIND", "EXPIRES", "ADDRESS", "REQUEST", "SCOPE")
_TIMES = ("given_at", "issued_at", "expires_at")


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(ledger)


@click.command()
@click.option(
    "--recipient",
    metavar="NAME",
    shell_complete=complete_names("recipient"),
    help="Only entries of this recipient.",
)
@click.option(
    "--share",
    metavar="NAME",
    shell_complete=complete_names("share"),
    help="Only entries of this share.",
)
@click.option(
    "--table", metavar="NAME", help="Only entries of TABLE, SCHEMA.TABLE or SHARE.SCHEMA.TABLE."
)
@click.option(
    "--kind",
    type=click.Choice(["credentials", "urls", "hadoop-token", "iceberg-config"]),
    help="Only entries of this kind.",
)
@click.option("--since", type=MOMENT, metavar="TIME", help="Vended at or after this time (24h: ago).")
@click.option("--until", type=MOMENT, metavar="TIME", help="Vended before this time.")
@click.option("--active", is_flag=True, help="Only entries that have not expired.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Maximum number of entries.",
)
@json_option
@click.pass_context
def ledger(ctx: click.Context, /, active: bool, as_json: bool, **wanted: Any) -> None:
    """List the URLs, temporary credentials and tokens that recipients received, newest first.

    \b
    Examples:
      sluicegate ledger --recipient acme --since 24h
      sluicegate ledger --table sales.eu.orders --active --json
    """
    from sluicegate.vending.ledger_search import LedgerQuery

    query = LedgerQuery(active_at=epoch_ms() if active else None, **wanted)
    entries = run_async(_find(load_settings(ctx), query))
    if as_json:
        print_json([_as_json(each) for each in entries])
        return
    if not entries:
        click.echo("no entries found", err=True)
        return
    for line in columns(_HEADER, [_row(each) for each in entries]):
        click.echo(line)


async def _find(settings: Settings, query: LedgerQuery) -> list[LedgerEntry]:
    from sluicegate.vending.ledger_search import find_entries

    async with open_store(settings) as store, store.read() as connection:
        return await find_entries(connection, query)


def _as_json(entry: LedgerEntry) -> dict[str, Any]:
    shown = asdict(entry)
    return shown | {name: shown[name] and iso_utc(shown[name]) for name in _TIMES}


def _row(entry: LedgerEntry) -> tuple[str, ...]:
    return (
        iso_utc(entry.given_at),
        entry.recipient,
        entry.asset or "table",
        entry.table_name,
        "/".join(part for part in (entry.kind, entry.cloud, entry.binding) if part),
        iso_utc(entry.expires_at) if entry.expires_at else "never",
        entry.address or "-",
        entry.request_id or "-",
        _opened(entry),
    )


def _opened(entry: LedgerEntry) -> str:
    if not entry.files:
        return ", ".join(entry.locations)
    return f"{entry.files} {'file' if entry.files == 1 else 'files'} of {entry.locations[0]}"
