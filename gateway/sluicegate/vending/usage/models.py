"""Requests for usage, and the answers to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any, Literal, get_args

from sluicegate.database.names import name_key

UsageBy = Literal["day", "recipient", "share", "table"]
USAGE_BY: tuple[UsageBy, ...] = get_args(UsageBy)

MAX_ROWS = 10_000
DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """Selects usage. Attributes that are `None` are ignored.

    Attributes:
        since: The first day (UTC), in days since the epoch.
    """

    by: UsageBy
    since: int
    until: int
    recipient: str | None = None
    share: str | None = None
    table: str | None = None
    shares: Collection[str] | None = None
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class Usage:
    """What recipients were offered.

    Attributes:
        bytes: Bytes of the files that the limits count; `None` if they are not counted for this row.
    """

    responses: int = 0
    credentials: int = 0
    files: int = 0
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage of a day, recipient, share or table.

    Attributes:
        day: Days since the epoch; only for a day.
        asset: The kind of asset that a table's name is for; `None` for a table.
    """

    names: tuple[str, ...]
    usage: Usage
    day: int | None = None
    asset: str | None = None

    @property
    def title(self) -> str:
        """The date, the name, or `share.schema.table`."""
        return ".".join(self.names) if self.day is None else day_text(self.day)


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The answer to a query."""

    query: UsageQuery
    rows: tuple[UsageRow, ...]
    total: Usage
    truncated: bool


def wanted_names(query: UsageQuery) -> Iterator[tuple[str, Collection[str]]]:
    """The columns with the casefolded names of which a query wants one."""
    if query.recipient is not None:
        yield "recipient", {name_key(query.recipient)}
    if query.share is not None:
        yield "share", {name_key(query.share)}
    if query.shares is not None:
        yield "share", {*query.shares}
    if query.table is not None:
        # Neither schemas nor tables have periods in their names; shares may.
        parts = reversed(query.table.rsplit(".", 2))
        for column, part in zip(("table", "schema", "share"), parts, strict=False):
            yield column, {name_key(part)}


def day_of(epoch_ms: int) -> int:
    """The day (UTC) of a time, in days since the epoch."""
    return epoch_ms // DAY_MS


def day_text(day: int) -> str:
    """The date of a day, such as `2026-11-21`."""
    return (_EPOCH + timedelta(days=day)).isoformat()


def parse_day(text: str) -> int:
    """The day of a date such as `2026-11-21`."""
    day = (date.fromisoformat(text) - _EPOCH).days
    if day < 0:
        raise ValueError("the date is before 1970")
    return day


def report_values(report: UsageReport) -> dict[str, Any]:
    """A report as values for JSON."""
    return range_values(report.query) | {
        "items": [_row_values(report.query.by, row) for row in report.rows],
        "total": asdict(report.total),
        "truncated": report.truncated,
    }


def range_values(query: UsageQuery) -> dict[str, Any]:
    """What a report's rows are for, and its days, as values for JSON."""
    return {"by": query.by, "since": day_text(query.since), "until": day_text(query.until)}


def _row_values(by: UsageBy, row: UsageRow) -> dict[str, Any]:
    if row.day is not None:
        named: dict[str, Any] = {"day": day_text(row.day)}
    elif by == "table":
        named = dict(zip(("share", "schema", "table"), row.names, strict=True)) | {"asset": row.asset}
    else:
        named = {by: row.names[0]}
    return named | asdict(row.usage)
