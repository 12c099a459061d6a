"""Schedules of the delegation service. Their modules are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sluicegate.api.errors import InvalidRequest, NotFound
from sluicegate.audit.trail import note_changes, note_resource
from sluicegate.config import Settings
from sluicegate.config.yaml import nearest
from sluicegate.database import Store

if TYPE_CHECKING:
    from sluicegate.delegation.schedules.firings import Firings
    from sluicegate.delegation.schedules.reports import ScheduleReports
    from sluicegate.delegation.schedules.schedule import Schedule
    from sluicegate.delegation.schedules.states import ScheduleStates

_SHOWN_FIRINGS = 20


class Schedules:
    """Reports, pauses, resumes and runs the configured schedules.

    The methods raise `NotFound` if there is no such schedule, and `Unavailable` if the database does
    not respond.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    @property
    def names(self) -> list[str]:
        """The names of all schedules, sorted."""
        return sorted(self._settings.delegation.schedules)

    async def reports(self, names: list[str]) -> list[dict[str, Any]]:
        """A report for each of some schedules."""
        if not names:
            return []
        return await self._reports.of([self._get(name) for name in names])

    async def show(self, name: str) -> dict[str, Any]:
        """The report of a schedule, with its last firings."""
        [report] = await self.reports([name])
        return report | {"firings": await self._reports.firings(name, _SHOWN_FIRINGS)}

    async def run(self, name: str, by: str) -> dict[str, Any]:
        """Let a schedule fire now; a service submits its tasks."""
        from sluicegate.delegation.schedules.reports import described_firing

        schedule = self._get(name)
        before = schedule.settings.after
        if before is not None:
            raise InvalidRequest(f"'{name}' fires only after the schedule '{before}': run that one")
        may_overlap = schedule.settings.overlap == "allow"
        firing = await self._firings.request(name, by, may_overlap=may_overlap)
        note_resource(name)
        note_changes([f"+ firing {firing.id} of schedule {name}"])
        return described_firing(firing, {})

    async def pause(self, name: str, by: str) -> dict[str, Any]:
        """Let a schedule fire no longer. Its submitted tasks continue."""
        self._get(name)
        note_resource(name)
        if await self._states.pause(name, by):
            note_changes([f"~ schedule {name}: paused"])
        return (await self.reports([name]))[0]

    async def resume(self, name: str) -> dict[str, Any]:
        """Let a schedule fire again, at later times."""
        self._get(name)
        note_resource(name)
        if await self._states.resume(name):
            note_changes([f"~ schedule {name}: resumed"])
        return (await self.reports([name]))[0]

    def _get(self, name: str) -> Schedule:
        if name not in self._schedules:
            hint = nearest(name[:64], self.names)
            raise NotFound(f"there is no schedule '{name[:64]}' in delegation.schedules{hint}")
        return self._schedules[name]

    @cached_property
    def _schedules(self) -> Mapping[str, Schedule]:
        from sluicegate.delegation.schedules.schedule import schedules_of

        return schedules_of(self._settings.delegation)

    @cached_property
    def _states(self) -> ScheduleStates:
        from sluicegate.delegation.schedules.states import ScheduleStates

        return ScheduleStates(self._store)

    @cached_property
    def _firings(self) -> Firings:
        from sluicegate.delegation.schedules.firings import Firings

        return Firings(self._store)

    @cached_property
    def _reports(self) -> ScheduleReports:
        from sluicegate.delegation.schedules.reports import ScheduleReports

        return ScheduleReports(self._store, self._states)
