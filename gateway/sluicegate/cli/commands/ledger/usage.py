"""`sluicegate usage`: sums what recipients were offered."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from sluicegate._util.clock import epoch_ms
from sluicegate.cli.commands.ledger.bars import bars, steps_for, terminal_width
from sluicegate.cli.filters import limit_option, name_option, table_option
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, get, given
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.tabular import columns
from sluicegate.cli.times import MOMENT

_AMOUNTS = ("RESPONSES", "CREDENTIALS", "FILES", "BYTES")
_DAYS = 30


def register(cli: click.Group) -> None:
    """Add the command."""
    cli.add_command(usage)


@click.command()
@click.option(
    "--by",
    type=click.Choice(["day", "recipient", "share", "table"]),
    default="day",
    show_default=True,
    help="What each row is for.",
)
@click.option(
    "--since",
    type=MOMENT,
    metavar="TIME",
    help=f"From the day of this time (7d: ago).  [default: the last {_DAYS} days]",
)
@click.option("--until", type=MOMENT, metavar="TIME", help="Up to and including the day of this time.")
@name_option("recipient", "Only of this recipient.")
@name_option("share", "Only of this share.")
@table_option("Only of")
@limit_option("rows", 10_000)
@click.option(
    "--plot",
    type=click.Choice(["responses", "credentials", "files"]),
    help="Draw this column as bars, instead of the table.",
)
@json_option
@click.pass_context
def usage(
    ctx: click.Context,
    /,
    since: int | None,
    until: int | None,
    plot: str | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Sum the responses, credentials and files that recipients were offered, from the ledger.

    Days are in UTC. RESPONSES are those with URLs, credentials or tokens, CREDENTIALS are those of them
    without URLs, and FILES are presigned URLs. BYTES are known for recipients with limits of a day.

    \b
    Examples:
      sluicegate usage
      sluicegate usage --by recipient --since 7d --plot files
      sluicegate usage --by table --recipient acme --since 2026-11-01 --json
    """
    from sluicegate.vending.usage.models import day_of, day_text

    if plot is not None and as_json:
        raise click.UsageError("--plot and --json exclude each other", ctx)
    last = day_of(epoch_ms() if until is None else until)
    first = max(last - _DAYS + 1, 0) if since is None else day_of(since)
    if first > last:
        raise click.BadParameter("must not be after --until", ctx, param_hint="--since")
    query = given(since=day_text(first), until=day_text(last), **wanted)
    report = manage(ctx, lambda target: get(target, "/usage", query))
    if as_json:
        print_json(report)
    else:
        _print(report, wanted["limit"], plot)


def _print(report: Content, limit: int, plot: str | None) -> None:
    if not report["items"]:
        click.echo("nothing was offered in this time", err=True)
        return
    for line in _table(report) if plot is None else _bars(report, plot):
        click.echo(line)
    if report["truncated"]:
        click.echo(f"only {limit} rows are shown; set --limit for more", err=True)


def _table(report: Content) -> Iterator[str]:
    by = report["by"]
    header = ("ASSET", "NAME") if by == "table" else (by.upper(),)
    total = ("total", *([""] if by == "table" else []), *_amounts(report["total"]))
    shown = [(*_names(by, row), *_amounts(row)) for row in report["items"]]
    return columns((*header, *_AMOUNTS), [*shown, total])


def _bars(report: Content, column: str) -> Iterator[str]:
    rows = [(_names(report["by"], row)[-1], row[column]) for row in report["items"]]
    return bars(rows, terminal_width(), steps_for(sys.stdout))


def _names(by: str, row: Content) -> tuple[str, ...]:
    if by != "table":
        return (row[by],)
    return row["asset"] or "table", ".".join(row[part] for part in ("share", "schema", "table"))


def _amounts(usage: Content) -> tuple[str, ...]:
    known = "-" if usage["bytes"] is None else f"{usage['bytes']:,}"
    return *(f"{usage[name]:,}" for name in ("responses", "credentials", "files")), known
