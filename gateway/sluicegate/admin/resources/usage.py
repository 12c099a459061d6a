"""Usage: what recipients were offered by day, recipient, share or table."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.usage import PARAMETERS, UsageReports
from sluicegate.vending.usage.models import MAX_ROWS, report_values


class UsageResource:
    """Serves `/usage`.

    Args:
        reports: Reads usage.
    """

    def __init__(self, reports: UsageReports) -> None:
        self._reports = reports

    def routes(self) -> list[AdminRoute]:
        """The route."""
        return [
            AdminRoute(
                "GET",
                "/usage",
                self._show,
                "viewer",
                "getUsage",
                "Sum what recipients were offered; with a role for some shares, only of these shares",
                "Usage",
                parameters=(
                    ("by", "What each row is for: `day` (the default), `recipient`, `share`, `table`."),
                    ("since", "The first day (UTC), such as `2026-11-01`; by default, 30 days."),
                    ("until", "The last day; by default, today."),
                    ("recipient", "Only of this recipient."),
                    ("share", "Only of this share."),
                    ("table", "Only of `table`, `schema.table` or `share.schema.table`."),
                    ("limit", f"Maximum number of rows, up to {MAX_ROWS}. The default is 1000."),
                ),
            )
        ]

    async def _show(self, call: AdminCall) -> Response:
        return answered(report_values(await self._reports.read(call.admin, call.query(*PARAMETERS))))
