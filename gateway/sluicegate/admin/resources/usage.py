"""Usage: what recipients were offered, or what they read, by day, recipient, share or table."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.usage import PARAMETERS, READS, UsageReports
from sluicegate.protocols.common.parameters import boolean
from sluicegate.vending.usage.models import report_values
from sluicegate.vending.usage.reads.models import reads_values


class UsageResource:
    """Serves `/usage`."""

    def __init__(self, reports: UsageReports) -> None:
        self._reports = reports

    def routes(self) -> list[AdminRoute]:
        """The route."""
        return [AdminRoute("GET", "/usage", self._show, "viewer", "getUsage")]

    async def _show(self, call: AdminCall) -> Response:
        values = call.query(*PARAMETERS, READS)
        if not boolean(READS, values.get(READS)):
            return answered(report_values(await self._reports.read(call.admin, values)))
        report = await self._reports.reads(call.admin, values)
        return answered(reads_values(report))
