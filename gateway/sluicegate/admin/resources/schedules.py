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
    """Serves `/schedules`.

    Args:
        schedules: Reports and changes schedules.
        pages: Signs page tokens.
    """

    def __init__(self, schedules: Schedules, pages: TokenSigner) -> None:
        self._schedules = schedules
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "GET",
                "/schedules",
                self._list,
                "viewer",
                "listSchedules",
                "List schedules of the delegation service, with their next and last firings",
                "Schedules",
                all_shares=True,
                paged=True,
            ),
            AdminRoute(
                "GET",
                _SCHEDULE,
                self._show,
                "viewer",
                "getSchedule",
                "Get a schedule with its last firings",
                "Schedule",
                all_shares=True,
                errors=(404,),
            ),
            AdminRoute(
                "POST",
                f"{_SCHEDULE}/run",
                self._run,
                "admin",
                "runSchedule",
                "Let a schedule fire now, also outside of its window; a service submits the tasks",
                "Firing",
                (201,),
                all_shares=True,
                errors=(404, 409),
            ),
            AdminRoute(
                "POST",
                f"{_SCHEDULE}/pause",
                self._pause,
                "admin",
                "pauseSchedule",
                "Let a schedule fire no longer; its submitted tasks continue",
                "Schedule",
                all_shares=True,
                errors=(404,),
            ),
            AdminRoute(
                "POST",
                f"{_SCHEDULE}/resume",
                self._resume,
                "admin",
                "resumeSchedule",
                "Let a paused schedule fire again, at later times",
                "Schedule",
                all_shares=True,
                errors=(404,),
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
