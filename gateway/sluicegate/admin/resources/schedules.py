"""Schedules of the delegation service that uses the same configuration and database."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.schedules import Schedules
from sluicegate.protocols.common.pagination import page
from sluicegate.signing.opaque_tokens import TokenSigner

_SCHEDULE = "/schedules/{schedule}"


class SchedulesResource:
    """Serves `/schedules`."""

    def __init__(self, schedules: Schedules, pages: TokenSigner) -> None:
        self._schedules = schedules
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/schedules", self._list, "viewer", "listSchedules", all_shares=True),
            AdminRoute("GET", _SCHEDULE, self._show, "viewer", "getSchedule", all_shares=True),
            AdminRoute("POST", f"{_SCHEDULE}/run", self._run, "admin", "runSchedule", all_shares=True),
            AdminRoute(
                "POST", f"{_SCHEDULE}/pause", self._pause, "admin", "pauseSchedule", all_shares=True
            ),
            AdminRoute(
                "POST", f"{_SCHEDULE}/resume", self._resume, "admin", "resumeSchedule", all_shares=True
            ),
        ]

    async def _list(self, call: AdminCall) -> Response:
        shown = page(self._schedules.names, str, call.page(), self._pages)
        reports = {each["name"]: each for each in await self._schedules.reports([*shown.items])}
        return answered(shown.shown(reports.__getitem__))

    async def _show(self, call: AdminCall) -> Response:
        return answered(await self._schedules.show(call.name("schedule")))

    async def _run(self, call: AdminCall) -> Response:
        return answered(await self._schedules.run(call.name("schedule"), call.admin.name), 201)

    async def _pause(self, call: AdminCall) -> Response:
        return answered(await self._schedules.pause(call.name("schedule"), call.admin.name))

    async def _resume(self, call: AdminCall) -> Response:
        return answered(await self._schedules.resume(call.name("schedule")))
