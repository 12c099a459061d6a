"""Fires schedules. Any number of services can do so concurrently: each firing happens once."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping

import anyio

from sluicegate.api.errors import Unavailable
from sluicegate.database import StatementRefused
from sluicegate.delegation.schedules.firing_retention import FiringRetention
from sluicegate.delegation.schedules.firings import Firings
from sluicegate.delegation.schedules.schedule import Schedule
from sluicegate.delegation.schedules.states import ScheduleStates
from sluicegate.delegation.schedules.submission import Submission

log = logging.getLogger(__name__)

_INTERVAL = 5.0
_RETENTION_INTERVAL = 3600.0


class Scheduler:
    """Opens firings when they are due, and submits their tasks."""

    def __init__(
        self,
        schedules: Mapping[str, Schedule],
        states: ScheduleStates,
        firings: Firings,
        submission: Submission,
        retention: FiringRetention,
    ) -> None:
        self._schedules = schedules
        self._states = states
        self._firings = firings
        self._submission = submission
        self._retention = retention

    async def run(self) -> None:
        """Fire until canceled. A slow catalog delays no other firing's time."""
        async with anyio.create_task_group() as group:
            group.start_soon(_repeated, self.fire)
            group.start_soon(_repeated, self.submit)
            group.start_soon(_repeated, self._retention.prune, _RETENTION_INTERVAL)

    async def fire(self) -> None:
        """Open all firings that are due."""
        now, states = await self._states.read()
        unknown = self._schedules.keys() - states.keys()
        if unknown:
            await self._states.add(unknown)
        for name, schedule in self._schedules.items():
            state = states.get(name)
            if state is None or state.paused_at is not None or not schedule.settings.enabled:
                continue
            if schedule.settings.after is not None:
                before = await self._firings.ended(schedule.settings.after, state.settled)
                if before is not None:
                    await self._open(schedule, before.fires_at, parent_id=before.id)
                continue
            due = schedule.due(state.settled, now)
            if due is not None:
                await self._open(schedule, due)

    async def submit(self) -> None:
        """Submit the tasks of all open firings that no other service has."""
        while (firing := await self._firings.claim()) is not None:
            await self._submission.perform(firing)

    async def _open(self, schedule: Schedule, due: int, *, parent_id: str | None = None) -> None:
        may_overlap = schedule.settings.overlap == "allow"
        firing = await self._firings.open(
            schedule.name, due, may_overlap=may_overlap, parent_id=parent_id
        )
        if firing is not None and firing.status == "SKIPPED":
            log.warning("schedule %s skips a firing: %s", schedule.name, firing.message)


async def _repeated(step: Callable[[], Awaitable[None]], interval: float = _INTERVAL) -> None:
    while True:
        try:
            await step()
        except (Unavailable, StatementRefused) as error:
            log.warning("schedules do not fire now: %s", error.detail or error.message)
        except Exception:  # the next step starts from the database again
            log.exception("schedules do not fire now")
        # Slightly less than the interval, so that services don't query simultaneously.
        await anyio.sleep(interval * random.uniform(0.75, 1))  # noqa: S311 (jitter)
