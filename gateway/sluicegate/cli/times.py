"""The types of command-line options that take a duration or a time."""

from __future__ import annotations

from datetime import UTC

import click

from sluicegate._util.clock import epoch_ms, ms_of, parse_time
from sluicegate._util.units import parse_duration


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
