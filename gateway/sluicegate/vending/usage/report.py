"""Reads usage: summaries of days that have ended, and the ledger for the newest days."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import anyio.to_thread
from sqlalchemy import ColumnElement, Row, Subquery, func, select, union_all

from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.tables import daily_usage, ledger_days, recipients
from sluicegate.vending.usage.models import (
    Usage,
    UsageBy,
    UsageQuery,
    UsageReport,
    UsageRow,
    wanted_names,
)
from sluicegate.vending.usage.reads.daily_table import DailyTable
from sluicegate.vending.usage.reads.models import Key, Reads, ReadsReport, ReadsRow
from sluicegate.vending.usage.summaries import (
    AMOUNTS,
    NAMES,
    entries_as_usage,
    first_open_day,
    smallest_grouping,
)


async def read_reads(table: DailyTable, query: UsageQuery) -> ReadsReport:
    """What recipients read; raises as `DailyTable.sums` does."""
    found, changed_at = await table.sums(query)
    return await anyio.to_thread.run_sync(_report, query, found, changed_at)


def _report(query: UsageQuery, found: Mapping[Key, Reads], changed_at: int) -> ReadsReport:
    rows = _ordered(found, query)
    kept = rows[: query.limit]
    if query.by == "day":
        kept.reverse()
    total = reduce(add, found.values(), Reads())
    return ReadsReport(query, tuple(kept), total, len(rows) > len(kept), changed_at)


def _ordered(found: Mapping[Key, Reads], query: UsageQuery) -> list[ReadsRow]:
    """The newest days first, or the largest others. Without a name comes last among equals."""
    rows = [ReadsRow(key, reads) for key, reads in found.items()]
    if query.by == "day":
        return sorted(rows, key=lambda row: int(row.key[0] or 0), reverse=True)
    return sorted(rows, key=lambda row: (-row.reads.requests, _with_none_last(row.key)))


def _with_none_last(key: Key) -> list[tuple[bool, str]]:
    return [(part is None, str(part)) for part in key]


_GROUPED: dict[UsageBy, tuple[str, ...]] = {
    "day": (),
    "recipient": ("recipient",),
    "share": ("share",),
    "table": ("share", "schema", "table", "asset"),
}


async def read_usage(connection: AsyncConnection, query: UsageQuery) -> UsageReport:
    """What recipients were offered."""
    first_open = await first_open_day(connection) or 0
    usage = _usage(query, first_open, _names(query))
    conditions = [
        usage.c[column].in_(await _spellings(connection, query, first_open, column, keys))
        for column, keys in wanted_names(query)
    ]
    totals = await connection.execute(select(*_sums(usage)).where(*conditions))
    keys = [usage.c[name] for name in (*_GROUPED[query.by], *(["day"] if query.by == "day" else []))]
    largest = [func.sum(usage.c.responses).desc(), *keys]
    found = await connection.execute(
        select(*keys, *_sums(usage))
        .where(*conditions)
        .group_by(*keys)
        .having(func.sum(usage.c.responses) > 0)  # days without any have summaries, too
        .order_by(*([usage.c.day.desc()] if query.by == "day" else largest))
        .limit(query.limit + 1)
    )
    rows = [_row(query.by, row) for row in found]
    truncated = len(rows) > query.limit
    rows = rows[: query.limit]
    if query.by == "day":
        rows.reverse()
    elif query.by == "recipient" and not (query.share or query.table or query.shares is not None):
        rows = await _with_bytes(connection, query, rows)
    return UsageReport(query, tuple(rows), _amounts(totals.one()), truncated)


def _names(query: UsageQuery) -> set[str]:
    """The names that a query needs."""
    names = {*_GROUPED[query.by]}
    if query.recipient is not None:
        names.add("recipient")
    if query.share is not None or query.shares is not None:
        names.add("share")
    if query.table is not None:
        names |= {"share", "schema", "table"}
    return names


def _usage(query: UsageQuery, first_open: int, names: set[str]) -> Subquery:
    """The smallest summaries with these names, and the entries of days without summaries."""
    summaries = select(*(ledger_days.c[name] for name in ("day", *NAMES, *AMOUNTS))).where(
        ledger_days.c.grouping == smallest_grouping(names),
        ledger_days.c.day >= query.since,
        ledger_days.c.day <= query.until,
    )
    entries = entries_as_usage(max(query.since, first_open), query.until + 1)
    return union_all(summaries, entries).subquery("usage")


async def _spellings(
    connection: AsyncConnection, query: UsageQuery, first_open: int, column: str, keys: Collection[str]
) -> list[str]:
    """The names with these casefolded forms. The functions of SQLite fold only ASCII."""
    usage = _usage(query, first_open, {column})
    names = await connection.scalars(select(usage.c[column]).distinct())
    return [name for name in names if name_key(name) in keys]


async def _with_bytes(
    connection: AsyncConnection, query: UsageQuery, rows: Sequence[UsageRow]
) -> list[UsageRow]:
    """Add the bytes of recipients whose bytes are counted, because they have limits of a day."""
    statement = (
        select(recipients.c.key, func.sum(daily_usage.c.bytes))
        .join(daily_usage, daily_usage.c.subject == recipients.c.id)
        .where(daily_usage.c.day >= query.since, daily_usage.c.day <= query.until)
        .group_by(recipients.c.key)
    )
    known = {key: int(amount) for key, amount in await connection.execute(statement)}
    return [
        replace(row, usage=replace(row.usage, bytes=known.get(name_key(row.names[0])))) for row in rows
    ]


def _sums(usage: Subquery) -> list[ColumnElement[Any]]:
    return [func.coalesce(func.sum(usage.c[name]), 0).label(name) for name in AMOUNTS]


def _amounts(row: Row[Any]) -> Usage:
    # PostgreSQL returns sums of `bigint` as `numeric`.
    return Usage(*(int(row._mapping[name]) for name in AMOUNTS))


def _row(by: UsageBy, row: Row[Any]) -> UsageRow:
    values = row._mapping
    if by == "day":
        return UsageRow((), _amounts(row), day=values["day"])
    names = tuple(values[name] for name in _GROUPED[by] if name != "asset")
    return UsageRow(names, _amounts(row), asset=values["asset"] or None if by == "table" else None)
