"""Reads the ledger, for commands and the admin API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.store.tables import ledger
from sluicegate.vending.entries import IssuanceKind, LedgerEntry


@dataclass(frozen=True, slots=True)
class LedgerQuery:
    """Which entries are wanted; what is `None` does not matter.

    Attributes:
        recipient: Its name; upper and lower case mean the same here and below.
        table: `table`, `schema.table` or `share.schema.table`.
        since: Given at or after this, epoch milliseconds.
        until: Given before this, epoch milliseconds.
        active_at: Still opening something at this moment, epoch milliseconds.
        limit: Most entries, the newest.
    """

    recipient: str | None = None
    share: str | None = None
    table: str | None = None
    kind: IssuanceKind | None = None
    since: int | None = None
    until: int | None = None
    active_at: int | None = None
    limit: int = 1000


async def find_entries(connection: AsyncConnection, query: LedgerQuery) -> list[LedgerEntry]:
    """The entries that a query wants, the newest first."""
    statement = (
        select(ledger)
        .where(*_conditions(query))
        .order_by(ledger.c.given_at.desc(), ledger.c.id)
        .limit(query.limit)
    )
    return [_entry(row._mapping) for row in await connection.execute(statement)]


def _conditions(query: LedgerQuery) -> list[ColumnElement[bool]]:
    names = [(ledger.c.recipient, query.recipient), (ledger.c.share, query.share)]
    # Neither schemas nor tables have periods in their names; shares may.
    table = query.table.rsplit(".", 2) if query.table is not None else []
    columns = (ledger.c.table, ledger.c.schema, ledger.c.share)
    names += zip(columns, reversed(table), strict=False)
    found = [_named(column, name) for column, name in names if name is not None]
    if query.kind is not None:
        found.append(ledger.c.kind == query.kind)
    if query.since is not None:
        found.append(ledger.c.given_at >= query.since)
    if query.until is not None:
        found.append(ledger.c.given_at < query.until)
    if query.active_at is not None:
        ends = ledger.c.expires_at
        found.append(or_(ends.is_(None), ends > query.active_at))
    return found


def _named(column: Column[str], name: str) -> ColumnElement[bool]:
    # SQLite's lower() knows ASCII alone, so the exact spelling is asked for as well.
    return or_(column == name, func.lower(column) == name.lower())


def _entry(row: Any) -> LedgerEntry:
    return LedgerEntry(**{**row, "locations": tuple(row["locations"])})
