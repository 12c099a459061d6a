"""The options that select what commands list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any, Literal

import click

from sluicegate._util.clock import epoch_ms, ms_of, parse_time
from sluicegate._util.units import parse_duration
from sluicegate.cli.completion import complete_names


class DurationType(click.ParamType[int]):
    """The type of options such as `90d` or `24h`; their value is in seconds."""

    name = "duration"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a duration into seconds."""
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION = DurationType()
"""Durations in seconds."""


class MomentType(click.ParamType[int]):
    """The type of options such as `2026-11-21T08:00:00Z`, or `24h` for 24 hours ago."""

    name = "moment"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a time into epoch milliseconds. A time without an offset is in UTC."""
        try:
            return max(epoch_ms() - parse_duration(value) * 1000, 0)
        except ValueError:
            pass
        try:
            return ms_of(parse_time(value, default=UTC))
        except ValueError:
            self.fail(
                f"{value!r} is not a time: write 2026-11-21T08:00:00Z, or 24h for a day ago", param
            )


MOMENT = MomentType()
"""Times as epoch milliseconds."""


Function = Callable[..., Any]
Option = Callable[[Function], Function]


def name_option(kind: Literal["recipient", "share"], text: str) -> Option:
    """The option `--recipient` or `--share`, which completes names."""
    return click.option(f"--{kind}", metavar="NAME", shell_complete=complete_names(kind), help=text)


def table_option(listed: str) -> Option:
    """The option `--table`."""
    return click.option(
        "--table", metavar="NAME", help=f"{listed} TABLE, SCHEMA.TABLE or SHARE.SCHEMA.TABLE."
    )


def time_options(done: str) -> Option:
    """The options `--since` and `--until`."""

    def add(command: Function) -> Function:
        until = click.option("--until", type=MOMENT, metavar="TIME", help=f"{done} before this time.")
        text = f"{done} at or after this time (7d: ago)."
        since = click.option("--since", type=MOMENT, metavar="TIME", help=text)
        return since(until(command))

    return add


def limit_option(listed: str, most: int | None = None) -> Option:
    """The option `--limit`."""
    return click.option(
        "--limit",
        type=click.IntRange(1, most),
        default=1000,
        show_default=True,
        help=f"Maximum number of {listed}.",
    )
