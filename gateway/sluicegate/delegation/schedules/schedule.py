"""A configured schedule: when it fires, and the tasks that it submits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.config.sections.schedules import ScheduleSettings, parse_window
from sluicegate.delegation.payloads.task_payload import TaskPayload
from sluicegate.delegation.schedules.cron import CronTimes
from sluicegate.delegation.schedules.selection import TableName, TableSelection
from sluicegate.delegation.schedules.windows import StartWindow


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
