"""Durations as options of commands."""

from __future__ import annotations

import click

from sluicegate.units import parse_duration


class DurationType(click.ParamType[int]):
    """An option's value like `90d` or `24h`, in seconds."""

    name = "duration"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Seconds of a text."""
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION = DurationType()
