"""The times of a cron expression in a time zone, as epoch milliseconds.

Changes to and from daylight saving time have the same effect as in Debian's cron. A schedule with a
fixed time fires once: at the first moment after a gap that skips the time, or at the first of two equal
times. A schedule whose minute or hour starts with `*` fires at every matching time, also at both.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim

from sluicegate._util.clock import ms_of


class CronTimes:
    """The times at which a schedule fires."""

    def __init__(self, expression: str, zone: ZoneInfo) -> None:
        self._expression = expression
        self._zone = zone

    def after(self, moment: int) -> Iterator[int]:
        """Return all times after one, in order."""
        start = datetime.fromtimestamp(moment // 1000, UTC).astimezone(self._zone)
        for each in CronSim(self._expression, start):
            at = ms_of(each.astimezone(UTC))
            # For fixed times, cronsim does not know whether the start is the second 02:30 of its day.
            if at > moment:
                yield at

    def following(self, moment: int) -> int | None:
        """Return the first time after one; `None` if there is none."""
        return next(self.after(moment), None)

    def latest(self, after: int, until: int) -> int | None:
        """Return the last time in `after < time <= until`; `None` if there is none."""
        latest = None
        for each in self.after(after):
            if each > until:
                break
            latest = each
        return latest
