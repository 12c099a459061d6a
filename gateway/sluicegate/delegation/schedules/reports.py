"""Reports of schedules for operators: when they fire next, and what the last firings did."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import func, select

from sluicegate._util.clock import iso_utc
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.task_tables import schedule_firings, tasks
from sluicegate.delegation.schedules.firings import Firing
from sluicegate.delegation.schedules.schedule import Schedule
from sluicegate.delegation.schedules.states import ScheduleState, ScheduleStates

Report = dict[str, Any]


class ScheduleReports:
    """Reads the firings of schedules, and describes both as JSON."""

    def __init__(self, store: Store, states: ScheduleStates) -> None:
        self._store = store
        self._states = states

    async def of(self, schedules: Sequence[Schedule]) -> list[Report]:
        """Return a report for each schedule, with its last firing."""
        now, states = await self._states.read()
        names = [each.name for each in schedules]
        async with self._store.read() as connection:
            last = await _last_firings(connection, names)
            counts = await _task_counts(connection, [each.id for each in last.values()])
        return [
            _described(each, states.get(each.name), now)
            | {"last_firing": _firing_or_none(last.get(each.name), counts)}
            for each in schedules
        ]

    async def firings(self, schedule: str, most: int) -> list[Report]:
        """Return the last firings of a schedule, newest first."""
        query = (
            select(schedule_firings)
            .where(schedule_firings.c.schedule == schedule)
            .order_by(schedule_firings.c.fires_at.desc())
            .limit(most)
        )
        async with self._store.read() as connection:
            found = [Firing.of(row) for row in await connection.execute(query)]
            counts = await _task_counts(connection, [each.id for each in found])
        return [described_firing(each, counts) for each in found]


TaskCounts = Mapping[str, Mapping[str, int]]
"""Numbers of tasks by the id of their firing and their state."""


def described_firing(firing: Firing, counts: TaskCounts) -> Report:
    """Return a firing as JSON."""
    return {
        "firing_id": firing.id,
        "schedule": firing.schedule,
        "fires_at": iso_utc(firing.fires_at),
        "parent_id": firing.parent_id,
        "requested_by": firing.requested_by,
        "opened_at": iso_utc(firing.opened_at),
        "status": firing.status,
        "submitted": firing.submitted,
        "busy": firing.busy,
        "message": firing.message,
        "tasks": dict(counts.get(firing.id, {})),
    }


def _firing_or_none(firing: Firing | None, counts: TaskCounts) -> Report | None:
    return None if firing is None else described_firing(firing, counts)


async def _last_firings(
    connection: AsyncConnection, schedules: Collection[str]
) -> Mapping[str, Firing]:
    last = (
        select(schedule_firings.c.schedule, func.max(schedule_firings.c.fires_at).label("fires_at"))
        .where(schedule_firings.c.schedule.in_(schedules))
        .group_by(schedule_firings.c.schedule)
        .subquery()
    )
    same = (
        last.c.schedule == schedule_firings.c.schedule,
        last.c.fires_at == schedule_firings.c.fires_at,
    )
    query = select(schedule_firings).where(*same)
    return {row.schedule: Firing.of(row) for row in await connection.execute(query)}


async def _task_counts(connection: AsyncConnection, firings: Collection[str]) -> TaskCounts:
    query = (
        select(tasks.c.firing_id, tasks.c.status, func.count())
        .where(tasks.c.firing_id.in_(firings))
        .group_by(tasks.c.firing_id, tasks.c.status)
        .order_by(tasks.c.firing_id, tasks.c.status)
    )
    found: dict[str, dict[str, int]] = {}
    for firing, status, count in await connection.execute(query):
        found.setdefault(firing, {})[status] = count
    return found


def _described(schedule: Schedule, state: ScheduleState | None, now: int) -> Report:
    settings = schedule.settings
    paused_at = None if state is None else state.paused_at
    fires = settings.enabled and paused_at is None
    # A time that is due now, and not opened yet, is still the next one.
    settled = now if state is None else state.settled
    following = None
    if fires and schedule.times is not None:
        following = schedule.due(settled, now) or schedule.times.following(now)
    return {
        "name": schedule.name,
        "operation": settings.operation,
        "catalog": settings.catalog,
        "tables": list(settings.tables),
        "exclude": list(settings.exclude),
        "properties": dict(settings.properties),
        "realm": schedule.realm,
        "priority": settings.priority,
        "cron": settings.cron,
        "after": settings.after,
        "time_zone": settings.time_zone,
        "window": settings.window,
        "max_running": settings.max_running,
        "max_tasks": settings.max_tasks,
        "overlap": settings.overlap,
        "enabled": settings.enabled,
        "paused_at": None if paused_at is None else iso_utc(paused_at),
        "paused_by": None if state is None else state.paused_by,
        "next_firing_at": None if following is None else iso_utc(following),
    }
