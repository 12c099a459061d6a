"""`sluicegate limits`: shows the limits of recipients, and how much of them is used today."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import click

from sluicegate.api.errors import NotFound
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.access.limits.listing import RecipientUse
    from sluicegate.config import Settings

_HEADER = ("RECIPIENT", "REQUESTS/MIN", "BURST", "CONCURRENT", "FILES", "BYTES")
_EPOCH = date(1970, 1, 1)


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(limits)


@click.command()
@click.option("--recipient", metavar="NAME", help="Only this recipient.")
@click.option(
    "--day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Use on this day (UTC).  [default: today]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    settings = load_settings(ctx)
    found = run_async(_find(settings, (when - _EPOCH).days, recipient))
    if as_json:
        shown = [_as_json(each, when, settings) for each in found]
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    if not found:
        click.echo("no recipients found", err=True)
        return
    for line in columns(_HEADER, [_row(each, settings) for each in found]):
        click.echo(line)


async def _find(settings: Settings, day: int, recipient: str | None) -> list[RecipientUse]:
    from sluicegate.access.limits.listing import list_use
    from sluicegate.config.yaml import nearest
    from sluicegate.database.names import name_key

    async with open_store(settings) as store, store.read() as connection:
        found = await list_use(connection, settings.limits.recipient, day)
    if recipient is None:
        return found
    named = [each for each in found if name_key(each.name) == name_key(recipient)]
    if not named:
        names = [each.name for each in found]
        raise NotFound(f"there is no recipient '{recipient}'{nearest(recipient, names)}")
    return named


def _concurrent(use: RecipientUse, settings: Settings) -> int:
    return use.limits.concurrent_requests or settings.server.max_requests_per_recipient


def _as_json(use: RecipientUse, day: date, settings: Settings) -> dict[str, Any]:
    allowed, rate = use.limits, use.limits.rate
    return {
        "recipient": use.name,
        "limits": {
            "requests_per_minute": rate and rate.per_minute,
            "burst": rate and rate.burst,
            "concurrent_requests": _concurrent(use, settings),
            "files_per_day": allowed.files_per_day,
            "bytes_per_day": allowed.bytes_per_day,
        },
        "day": day.isoformat(),
        "files": use.offered.files if allowed.daily else None,
        "bytes": use.offered.bytes if allowed.daily else None,
    }


def _row(use: RecipientUse, settings: Settings) -> tuple[str, ...]:
    allowed, rate = use.limits, use.limits.rate
    return (
        use.name,
        f"{rate.per_minute:,}" if rate else "unlimited",
        f"{rate.burst:,}" if rate else "-",
        f"{_concurrent(use, settings):,}",
        _part(use.offered.files, allowed.files_per_day, counted=allowed.daily),
        _part(use.offered.bytes, allowed.bytes_per_day, counted=allowed.daily),
    )


def _part(used: int, limit: int | None, *, counted: bool) -> str:
    if limit is None:
        return f"{used:,}" if counted else "unlimited"
    return f"{used:,} of {limit:,}"
