"""Usage: what recipients were offered, or what they read, by day, recipient, share or table."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.usage import PARAMETERS, READS, UsageReports
from sluicegate.protocols.common.parameters import boolean
from sluicegate.vending.usage.models import MAX_ROWS, report_values
from sluicegate.vending.usage.reads.models import reads_values


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
                "Sum what recipients were offered or read; with a role for some shares, only of them",
                "Usage",
                parameters=(
                    (READS, "`true` to sum what was read, from the tables of usage."),
                    ("by", "What each row is for: `day` (the default), `recipient`, `share`, `table`."),
                    ("since", "The first day (UTC), such as `2026-11-01`; by default, 30 days."),
                    ("until", "The last day; by default, today."),
                    ("recipient", "Only of this recipient."),
                    ("share", "Only of this share."),
                    ("table", "Only of `table`, `schema.table` or `share.schema.table`."),
                    ("limit", f"Maximum number of rows, up to {MAX_ROWS}. The default is 1000."),
                ),
                errors=(404,),
            )
        ]

    async def _show(self, call: AdminCall) -> Response:
        values = call.query(*PARAMETERS, READS)
        if not boolean(READS, values.get(READS)):
            return answered(report_values(await self._reports.read(call.admin, values)))
        report = await self._reports.reads(call.admin, values)
        return answered(reads_values(report))
