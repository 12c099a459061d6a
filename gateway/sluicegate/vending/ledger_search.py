"""Reads the ledger, for commands and the admin API."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Column, ColumnElement, and_, func, or_, select

from sluicegate.api.delegation.issued import IssuedAccess
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import ledger
from sluicegate.vending.entries import IssuanceKind, LedgerEntry

_ISSUED = tuple(each.name for each in fields(IssuedAccess))


@dataclass(frozen=True, slots=True)
class LedgerQuery:
    """Selects entries. Attributes that are `None` are ignored.

    Attributes:
        since: Vended at or after this time, epoch milliseconds.
        until: Vended before this time, epoch milliseconds.
        active_at: Not expired at this time, epoch milliseconds.
    """

    recipient: str | None = None
    share: str | None = None
    table: str | None = None
    kind: IssuanceKind | None = None
    since: int | None = None
    until: int | None = None
    active_at: int | None = None
    limit: int = 1000
    after: tuple[int, str] | None = None


async def find_entries(connection: AsyncConnection, query: LedgerQuery) -> list[LedgerEntry]:
    """The entries that a query selects, newest first."""
    statement = (
        select(ledger)
        .where(*_conditions(query))
        .order_by(ledger.c.given_at.desc(), ledger.c.id)
        .limit(query.limit)
    )
    return [_entry(row._mapping) for row in await connection.execute(statement)]


async def entries_from(
    connection: AsyncConnection, since: int, after: tuple[int, str] | None, limit: int
) -> list[IssuedAccess]:
    """A page of the entries from a time on, oldest first; see `TaskRun.issued_access`."""
    statement = (
        select(*(ledger.c[name] for name in _ISSUED))
        .where(ledger.c.given_at >= since)
        .order_by(ledger.c.given_at, ledger.c.id)
        .limit(limit)
    )
    if after is not None:
        given_at, last = after
        same = and_(ledger.c.given_at == given_at, ledger.c.id > last)
        statement = statement.where(
            ledger.c.given_at >= given_at, or_(ledger.c.given_at > given_at, same)
        )
    found = await connection.execute(statement)
    return [
        IssuedAccess(**{**row._mapping, "locations": tuple(row._mapping["locations"])}) for row in found
    ]


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
    if query.after is not None:
        given_at, last = query.after
        same = and_(ledger.c.given_at == given_at, ledger.c.id > last)
        found.append(or_(ledger.c.given_at < given_at, same))
    return found


def _named(column: Column[str], name: str) -> ColumnElement[bool]:
    # SQLite's lower() supports only ASCII, so the query also compares the exact name.
    return or_(column == name, func.lower(column) == name.lower())


def _entry(row: Any) -> LedgerEntry:
    return LedgerEntry(**{**row, "locations": tuple(row["locations"])})
