"""The times of day between which tasks can start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sluicegate._util.clock import ms_of

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class StartWindow:
    """A part of each day; `end` can be on the next day.

    Of two equal times of day, the first one counts. A time that a gap skips is as long after the gap as
    it is after the begin of the gap.
    """

    begin: time
    end: time
    zone: ZoneInfo

    def at_or_after(self, moment: int) -> tuple[int, int]:
        """Return the window that contains a time, or the next one: its begin and its end.

        The end isn't part of the window. Times are in epoch milliseconds.
        """
        today = datetime.fromtimestamp(moment / 1000, UTC).astimezone(self.zone).date()
        for days in range(-1, 3):
            opens, closes = self._on(today + days * _DAY)
            if opens < closes and moment < closes:
                return opens, closes
        raise AssertionError("each day has a window")  # pragma: no cover

    def _on(self, day: date) -> tuple[int, int]:
        last = day if self.begin < self.end else day + _DAY
        return self._ms(day, self.begin), self._ms(last, self.end)

    def _ms(self, day: date, at: time) -> int:
        return ms_of(datetime.combine(day, at, self.zone).astimezone(UTC))
