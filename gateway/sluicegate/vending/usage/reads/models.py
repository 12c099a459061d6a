"""Reports of what recipients read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from sluicegate._util.clock import iso_utc
from sluicegate.vending.usage.models import UsageBy, UsageQuery, day_text, range_values

GROUPED: dict[UsageBy, tuple[str, ...]] = {
    "day": ("day",),
    "recipient": ("recipient",),
    "share": ("share",),
    "table": ("share", "schema", "table"),
}
"""The columns that each row of a report is for."""

Key = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Reads:
    """What recipients read.

    Attributes:
        bytes: Bytes of successful responses.
    """

    requests: int = 0
    failed: int = 0
    late: int = 0
    files: int = 0
    bytes: int = 0

    def __add__(self, other: Self) -> Reads:
        """The sum of both."""
        return Reads(*(getattr(self, name) + getattr(other, name) for name in AMOUNTS))


AMOUNTS: tuple[str, ...] = tuple(each.name for each in fields(Reads))


@dataclass(frozen=True, slots=True)
class ReadsRow:
    """The reads of a day, recipient, share or table.

    Attributes:
        key: Values of the columns in `GROUPED`. A day is the number of days since the epoch. Names are
            `None` for reads whose recipient is not known.
    """

    key: Key
    reads: Reads


@dataclass(frozen=True, slots=True)
class ReadsReport:
    """The answer to a query.

    Attributes:
        changed_at: When the table of usage was last written, epoch milliseconds.
    """

    query: UsageQuery
    rows: tuple[ReadsRow, ...]
    total: Reads
    truncated: bool
    changed_at: int


def reads_values(report: ReadsReport) -> dict[str, Any]:
    """A report as values for JSON."""
    return range_values(report.query) | {
        "items": [_row_values(report.query.by, row) for row in report.rows],
        "total": asdict(report.total),
        "truncated": report.truncated,
        "changed_at": iso_utc(report.changed_at),
    }


def _row_values(by: UsageBy, row: ReadsRow) -> dict[str, Any]:
    named = dict(zip(GROUPED[by], row.key, strict=True))
    if isinstance(day := named.get("day"), int):
        named["day"] = day_text(day)
    return named | asdict(row.reads)
