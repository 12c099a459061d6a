"""Usage: what recipients were offered, as plots and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.vending.usage.models import USAGE_BY, UsageReport, UsageRow, day_text

WIDTH = 720.0
_HEIGHT = 200.0
_LEFT, _TOP, _BOTTOM = 64.0, 12.0, 28.0
_LABEL = 84.0
# Of horizontal bars: the height of a row, and the width of the names.
_ROW, _NAMES = 24.0, 240.0
_VALUES = 90.0
_LONGEST = 34


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle, with a text that describes it."""

    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a position. `anchor` is that of SVG: `start`, `middle` or `end`."""

    x: float
    y: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot."""

    title: str
    description: str
    height: float
    bars: tuple[Bar, ...]
    labels: tuple[Label, ...]
    lines: tuple[float, ...] = ()
    left: float = _LEFT
    width: float = WIDTH


def plot_by_day(title: str, unit: str, values: Sequence[tuple[str, int]]) -> Plot:
    """One vertical bar for each day, with an axis."""
    ticks = axis_ticks(max(value for _, value in values))
    step = (WIDTH - _LEFT) / len(values)
    tall = _HEIGHT - _TOP - _BOTTOM
    base = _TOP + tall
    bars = [
        Bar(
            round(_LEFT + index * step + step * 0.1, 2),
            round(base - tall * value / ticks[-1], 2),
            round(step * 0.8, 2),
            round(tall * value / ticks[-1], 2),
            f"{day}: {value:,} {unit}",
        )
        for index, (day, value) in enumerate(values)
    ]
    every = max(1, round(_LABEL / step + 0.5))
    days = [
        Label(round(_LEFT + (index + 0.5) * step, 2), _HEIGHT - 8, day)
        for index, (day, _) in enumerate(values)
        if index % every == 0 and _LEFT + (index + 0.5) * step < WIDTH - _LABEL / 2
    ]
    heights = [round(base - tall * tick / ticks[-1], 2) for tick in ticks]
    scale = [
        Label(_LEFT - 6, height + 4, short_number(tick), "end")
        for tick, height in zip(ticks, heights, strict=True)
    ]
    return Plot(title, _about(unit, values), _HEIGHT, tuple(bars), (*scale, *days), tuple(heights))


def plot_largest(title: str, unit: str, values: Sequence[tuple[str, int]]) -> Plot:
    """One horizontal bar for each name."""
    largest = max(1, *(value for _, value in values), 1)
    long = WIDTH - _NAMES - _VALUES
    bars, labels = [], []
    for index, (name, value) in enumerate(values):
        y, width = index * _ROW, round(long * value / largest, 2)
        bars.append(Bar(_NAMES, y + 4, width, _ROW - 8, f"{name}: {value:,} {unit}"))
        labels.append(Label(_NAMES - 8, y + 17, _shortened(name), "end"))
        labels.append(Label(_NAMES + width + 6, y + 17, f"{value:,}", "start"))
    height = len(values) * _ROW
    return Plot(title, _about(unit, values), height, tuple(bars), tuple(labels), left=_NAMES)


def axis_ticks(highest: int) -> list[int]:
    """Round values from 0 to at least the highest one, at most six."""
    step = 1
    while step * 5 < highest:
        # 1, 2, 5, 10, 20, 50, …
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return [*range(0, max(highest, 1) + step, step)]


def short_number(value: int) -> str:
    """Such as `2.5 M`."""
    for size, letter in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return str(value)


def _about(unit: str, values: Sequence[tuple[str, int]]) -> str:
    name, value = max(values, key=lambda each: each[1])
    total = sum(each for _, each in values)
    return (
        f"{len(values)} bars with {total:,} {unit} together. The largest is {name} with {value:,}. "
        "The table below contains all values."
    )


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


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
