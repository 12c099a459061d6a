"""A configured schedule: when it fires, and the tasks that it submits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim

from sluicegate._util.clock import ms_of
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.config.sections.schedules import ScheduleSettings, parse_window
from sluicegate.delegation.schedules.selection import TableName, TableSelection
from sluicegate.delegation.task_payload import TaskPayload


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


class StartTimes(NamedTuple):
    """When tasks can start, in epoch milliseconds. `None` means at once, or at any later time."""

    due_at: int | None
    start_by: int | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule with its parsed settings."""

    name: str
    realm: str
    settings: ScheduleSettings
    times: CronTimes | None
    window: StartWindow | None
    selection: TableSelection

    @classmethod
    def of(cls, name: str, settings: ScheduleSettings, realm: str) -> Schedule:
        """Return the schedule of a section."""
        zone = ZoneInfo(settings.time_zone)
        window = settings.window
        return cls(
            name,
            settings.realm or realm,
            settings,
            None if settings.cron is None else CronTimes(settings.cron, zone),
            None if window is None else StartWindow(*parse_window(window), zone),
            TableSelection(settings.tables, settings.exclude),
        )

    def due(self, after: int, now: int) -> int | None:
        """Return the latest time at which it has to fire now; `None` if there is none.

        A schedule with `after` has no such times.
        """
        if self.times is None:
            return None
        oldest = now - max(self.settings.catch_up, _TOLERANCE) * 1000
        return self.times.latest(max(after, oldest), now)

    def start_times(self, opened_at: int) -> StartTimes:
        """Return when the tasks of a firing can start, which began at this time."""
        if self.window is None:
            return StartTimes(None, None)
        opens, closes = self.window.at_or_after(opened_at)
        return StartTimes(opens if opens > opened_at else None, closes)

    def payload(self, table: TableName) -> TaskPayload:
        """Return the payload of the task for a table."""
        return TaskPayload.model_validate(
            {
                "common_payload": {
                    "operation_type": self.settings.operation,
                    "realm_identifier": self.realm,
                    "priority": self.settings.priority,
                },
                "operation_parameters": {
                    "table_identity": {
                        "table_entity_id": str(table),
                        "catalog_name": self.settings.catalog,
                        "namespace_levels": table.levels,
                        "table_name": table.name,
                    },
                    "properties": dict(self.settings.properties),
                },
            }
        )


# Seconds. A service looks only every few seconds, and might have to wait for the database.
_TOLERANCE = 60


def schedules_of(settings: DelegationSettings) -> Mapping[str, Schedule]:
    """Return all configured schedules, by name."""
    return {
        name: Schedule.of(name, section, settings.realm) for name, section in settings.schedules.items()
    }
