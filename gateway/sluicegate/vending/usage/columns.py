"""Columns by which usage is summed, and the summaries that contain them."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, case, func, literal, select

from sluicegate.database.tables import ledger
from sluicegate.vending.usage.models import DAY_MS

Grouping = Literal["day", "recipient", "table", "both"]

NAMES = ("recipient", "share", "schema", "table", "asset")
AMOUNTS = ("responses", "credentials", "files")

GROUPINGS: dict[Grouping, tuple[str, ...]] = {
    "day": (),
    "recipient": ("recipient", "share"),
    "table": ("share", "schema", "table", "asset"),
    "both": NAMES,
}
"""The names that each summary of a day keeps, from the smallest summary to the largest."""


def smallest_grouping(names: set[str]) -> Grouping:
    """The smallest summary that keeps these names."""
    return next(each for each, kept in GROUPINGS.items() if names <= {*kept})


def entries_as_usage(start: int, end: int) -> Select[*tuple[Any, ...]]:
    """The entries of the ledger from one day until before another, with the columns of summaries."""
    given_at = ledger.c.given_at
    columns: list[ColumnElement[Any]] = [(given_at // DAY_MS).label("day")]
    columns += [
        func.coalesce(ledger.c[name], "").label(name) if name == "asset" else ledger.c[name]
        for name in NAMES
    ]
    columns += [
        literal(1).label("responses"),
        case((ledger.c.kind == "urls", 0), else_=1).label("credentials"),
        func.coalesce(ledger.c.files, 0).label("files"),
    ]
    return select(*columns).where(given_at >= start * DAY_MS, given_at < end * DAY_MS)
