"""The type of command-line options that take a duration."""

from __future__ import annotations

import click

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
