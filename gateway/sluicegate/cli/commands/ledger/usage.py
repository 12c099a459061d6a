"""`sluicegate usage`: sums what recipients were offered, or what they read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from typing import Any, Final, TextIO

import click

from sluicegate._util.clock import epoch_ms
from sluicegate._util.printable import printable
from sluicegate.cli.management.run import manage
from sluicegate.cli.management.target import Content, get, given
from sluicegate.cli.options import MOMENT, limit_option, name_option, table_option
from sluicegate.cli.output import columns, json_option, print_json

_BLOCKS: Final = " ▏▎▍▌▋▊▉█"
_ASCII: Final = " #"
_SHORTEST: Final = 10
_LONGEST: Final = 100
_LONGEST_TITLE: Final = 60


def bar_chart(rows: Sequence[tuple[str, int]], width: int, steps: str = _BLOCKS) -> Iterator[str]:
    """A line for each row: its title, its bar, and its number. The largest number fills the width.

    Invisible characters of titles are escaped, and long titles are shortened.
    """
    titles = [_shortened(printable(title)) for title, _ in rows]
    numbers = [f"{number:,}" for _, number in rows]
    largest = max((number for _, number in rows), default=0)
    widest, digits = max(map(len, titles), default=0), max(map(len, numbers), default=0)
    cells = min(_LONGEST, max(_SHORTEST, width - widest - digits - 4))
    for title, (_, number), text in zip(titles, rows, numbers, strict=True):
        yield f"{title:<{widest}}  {_bar(number, largest, cells, steps):<{cells}}  {text:>{digits}}"


def steps_for(output: TextIO) -> str:
    """The characters that an output can show."""
    try:
        _BLOCKS.encode(output.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _BLOCKS


def terminal_width() -> int:
    """Columns of the terminal; 80 without one."""
    return get_terminal_size().columns


def _bar(number: int, largest: int, cells: int, steps: str) -> str:
    parts = len(steps) - 1
    # A number above zero is never invisible.
    filled = max(1, number * cells * parts // largest) if number else 0
    full, rest = divmod(filled, parts)
    return steps[-1] * full + (steps[rest] if rest else "")


def _shortened(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


_OFFERED = ("responses", "credentials", "files", "bytes")
_READ = ("requests", "failed", "late", "files", "bytes")
# Bytes that were offered are not known for all rows.
_PLOTS = {False: _OFFERED[:-1], True: _READ}
_DAYS = 30
_UNKNOWN = "-"


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
@click.option("--reads", is_flag=True, help="Sum what recipients read, from the tables of usage.")
@name_option("recipient", "Only of this recipient.")
@name_option("share", "Only of this share.")
@table_option("Only of")
@limit_option("rows", 10_000)
@click.option(
    "--plot",
    type=click.Choice([*dict.fromkeys((*_PLOTS[False], *_PLOTS[True]))]),
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
    reads: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Sum the responses, credentials and files that recipients were offered, from the ledger.

    Days are in UTC. RESPONSES are those with URLs, credentials or tokens, CREDENTIALS are those of them
    without URLs, and FILES are presigned URLs. BYTES are known for recipients with limits of a day.

    With --reads, the sums are those of requests to the stores, which COLLECT_USAGE writes to the tables
    of usage. FILES are distinct for each day, recipient and table.

    \b
    Examples:
      sluicegate usage
      sluicegate usage --by recipient --since 7d --plot files
      sluicegate usage --by table --recipient acme --since 2026-11-01 --json
      sluicegate usage --reads --by recipient --plot bytes
    """
    from sluicegate.vending.usage.models import day_of, day_text

    if plot is not None and as_json:
        raise click.UsageError("--plot and --json exclude each other", ctx)
    if plot is not None and plot not in _PLOTS[reads]:
        needs = "exclude each other" if reads else "is only possible with --reads"
        with_reads = " and --reads" if reads else ""
        raise click.UsageError(f"--plot {plot}{with_reads} {needs}", ctx)
    last = day_of(epoch_ms() if until is None else until)
    first = max(last - _DAYS + 1, 0) if since is None else day_of(since)
    if first > last:
        raise click.BadParameter("must not be after --until", ctx, param_hint="--since")
    wanted |= {"reads": "true"} if reads else {}
    query = given(since=day_text(first), until=day_text(last), **wanted)
    report = manage(ctx, lambda target: get(target, "/usage", query))
    if as_json:
        print_json(report)
    else:
        _print(report, wanted["limit"], plot, reads=reads)


def _print(report: Content, limit: int, plot: str | None, *, reads: bool) -> None:
    if not report["items"]:
        click.echo(f"nothing was {'read' if reads else 'offered'} in this time", err=True)
    else:
        amounts = _READ if reads else _OFFERED
        for line in _table(report, amounts) if plot is None else _bars(report, plot):
            click.echo(line)
    if report["truncated"]:
        click.echo(f"only {limit} rows are shown; set --limit for more", err=True)
    if reads:
        click.echo(f"the tables of usage were last changed at {report['changed_at']}", err=True)


def _table(report: Content, amounts: Sequence[str]) -> Iterator[str]:
    by = report["by"]
    named = ("ASSET", "NAME") if "asset" in report["items"][0] else (by.upper(),)
    total = ("total", *[""] * (len(named) - 1), *_amounts(report["total"], amounts))
    shown = [(*_names(by, row), *_amounts(row, amounts)) for row in report["items"]]
    return columns((*named, *map(str.upper, amounts)), [*shown, total])


def _bars(report: Content, column: str) -> Iterator[str]:
    rows = [(_names(report["by"], row)[-1], row[column]) for row in report["items"]]
    return bar_chart(rows, terminal_width(), steps_for(sys.stdout))


def _names(by: str, row: Content) -> tuple[str, ...]:
    if by != "table":
        return (_UNKNOWN if row[by] is None else row[by],)
    parts = [row[part] for part in ("share", "schema", "table")]
    name = _UNKNOWN if None in parts else ".".join(parts)
    return (row["asset"] or "table", name) if "asset" in row else (name,)


def _amounts(usage: Content, amounts: Sequence[str]) -> tuple[str, ...]:
    return tuple(_UNKNOWN if usage[name] is None else f"{usage[name]:,}" for name in amounts)
