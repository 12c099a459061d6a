"""Sums the ledger by day, so that usage can be read without reading every entry."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, case, delete, func, literal, select

from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.upserts import insert_into
from sluicegate.database.tables import ledger, ledger_days
from sluicegate.vending.usage.models import DAY_MS, day_of

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


# A response begins an entry, and its last URLs can be signed hours later. The newest summaries are
# therefore of the day before yesterday, and the last ones are made again.
OPEN_DAYS = 2
_REPEATED = 1


async def summarize_days(store: Store, now: int, oldest: int) -> None:
    """Sum the days that have ended, one transaction each, and delete summaries of old days.

    Several gateways can do this at the same time. They write the same sums.
    """
    async with store.read() as connection:
        done = await first_open_day(connection)
        earliest = await connection.scalar(select(func.min(ledger.c.given_at)))
    if earliest is not None:
        # A day whose entries are partly deleted keeps its sums.
        again = None if done is None else max(done - _REPEATED, day_of(oldest) + 1)
        start = day_of(earliest) if again is None else again
        for day in range(start, day_of(now) - OPEN_DAYS + 1):
            async with store.append() as connection:
                for grouping in GROUPINGS:
                    await _summarize(connection, day, grouping)
    async with store.append() as connection:
        await connection.execute(delete(ledger_days).where(ledger_days.c.day < day_of(oldest)))


async def first_open_day(connection: AsyncConnection) -> int | None:
    """The first day without summaries, or `None` if no day has any.

    A day without entries has a summary too: that of the grouping `day`.
    """
    days = select(func.max(ledger_days.c.day)).where(ledger_days.c.grouping == "day")
    last: int | None = await connection.scalar(days)
    return None if last is None else last + 1


async def _summarize(connection: AsyncConnection, day: int, grouping: Grouping) -> None:
    entries = entries_as_usage(day, day + 1).subquery()
    kept = GROUPINGS[grouping]
    names = [entries.c[name] if name in kept else literal("").label(name) for name in NAMES]
    amounts = [func.coalesce(func.sum(entries.c[name]), 0).label(name) for name in AMOUNTS]
    # In one order, so that gateways that write at the same time wait, and never for each other. The
    # condition separates the query from the clause of the conflict, as SQLite needs it.
    sums = (
        select(literal(day).label("day"), literal(grouping).label("grouping"), *names, *amounts)
        .where(literal(1) == 1)
        .group_by(*(entries.c[name] for name in kept))
        .order_by(*(entries.c[name] for name in kept))
    )
    statement = insert_into(ledger_days, connection.dialect.name)
    written = statement.from_select(["day", "grouping", *NAMES, *AMOUNTS], sums)
    await connection.execute(
        written.on_conflict_do_update(
            index_elements=["grouping", "day", *NAMES],
            set_={name: statement.excluded[name] for name in AMOUNTS},
        )
    )
