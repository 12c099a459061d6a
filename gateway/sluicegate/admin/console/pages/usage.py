"""Usage: what recipients were offered, as plots and tables."""

from __future__ import annotations

from starlette.responses import Response

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.console.plots import Plot, plot_by_day, plot_largest
from sluicegate.vending.usage.models import USAGE_BY, UsageReport, UsageRow, day_text

_FILTERS = ("by", "since", "until", "recipient", "share", "table")
# Bars that can be distinguished.
_MOST_DAYS = 366
_MOST_NAMES = 15


class UsagePage:
    """Shows usage."""

    def __init__(self, admin: AdminApi) -> None:
        self._admin = admin

    def routes(self) -> list[ConsoleRoute]:
        """The route."""
        return [ConsoleRoute("GET", "/usage", self._show)]

    async def _show(self, call: ConsoleCall) -> Response:
        given = {name: call.query(name) for name in _FILTERS}
        wanted = {name: value for name, value in given.items() if value}
        report = await self._admin.usage.read(call.admin, wanted)
        return call.page(
            "usage.html",
            report=report,
            choices=USAGE_BY,
            given=given,
            since=day_text(report.query.since),
            until=day_text(report.query.until),
            plots=plots(report),
            kept={name: wanted.get(name) for name in _FILTERS if name != "by"},
        )


def plots(report: UsageReport) -> list[Plot]:
    """The responses and the files of a report, unless it has none."""
    if not report.rows:
        return []
    made: list[Plot] = []
    for unit in ("responses", "files"):
        if report.query.by == "day":
            made.append(plot_by_day(f"{unit.title()} by day", unit, _by_day(report, unit)))
        else:
            rows = sorted(report.rows, key=lambda row: -_value(row, unit))[:_MOST_NAMES]
            title = f"{report.query.by.title()}s with the most {unit}"
            made.append(plot_largest(title, unit, [(row.title, _value(row, unit)) for row in rows]))
    return made


def _by_day(report: UsageReport, unit: str) -> list[tuple[str, int]]:
    """Each day of the range, also those without usage; of a long range, the end."""
    known = {row.day: _value(row, unit) for row in report.rows}
    first = max(report.query.since, report.query.until - _MOST_DAYS + 1)
    return [(day_text(day), known.get(day, 0)) for day in range(first, report.query.until + 1)]


def _value(row: UsageRow, unit: str) -> int:
    return int(getattr(row.usage, unit))
