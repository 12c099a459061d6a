"""Statements about the limits and the use of recipients."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select

from sluicegate.access.limits.daily_use import Amount, UseKey
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import recipient_usage, recipients

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

RETENTION_DAYS = 400
_BATCH = 500


async def load_limits(connection: AsyncConnection) -> dict[str, Mapping[str, Any]]:
    """The limits of the recipients that have some in the shares file, by their ids."""
    query = select(recipients.c.id, recipients.c.limits).where(recipients.c.limits.is_not(None))
    return {row.id: row.limits for row in await connection.execute(query)}


async def load_use(
    connection: AsyncConnection, day: int, among: Collection[str] | None = None
) -> dict[str, Amount]:
    """What recipients were offered on a day, by their ids.

    Args:
        connection: A transaction.
        day: Days since the epoch.
        among: Ids of the recipients. `None` for all.
    """
    query = select(recipient_usage).where(recipient_usage.c.day == day)
    if among is None:
        queries = [query]
    else:
        ids = sorted(among)
        parts = (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))
        queries = [query.where(recipient_usage.c.recipient_id.in_(part)) for part in parts]
    return {
        row.recipient_id: Amount(row.files, row.bytes)
        for each in queries
        for row in await connection.execute(each)
    }


async def add_use(connection: AsyncConnection, use: Mapping[UseKey, Amount]) -> None:
    """Add to what recipients were offered."""
    # In one order, so that gateways that write at the same time wait, and never for each other.
    rows = [
        {"recipient_id": recipient, "day": day, "files": amount.files, "bytes": amount.bytes}
        for (recipient, day), amount in sorted(use.items())
    ]
    for start in range(0, len(rows), _BATCH):
        await _upsert(connection, rows[start : start + _BATCH])


async def delete_old_use(connection: AsyncConnection, day: int) -> None:
    """Delete what is older than `RETENTION_DAYS` on a day."""
    oldest = day - RETENTION_DAYS
    await connection.execute(delete(recipient_usage).where(recipient_usage.c.day < oldest))


async def _upsert(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    statement = _insert(connection.dialect.name)
    columns = recipient_usage.c
    added = {name: columns[name] + statement.excluded[name] for name in ("files", "bytes")}
    keys = ["recipient_id", "day"]
    await connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=added), rows)


def _insert(dialect: str) -> postgresql.Insert | sqlite.Insert:
    """An insert in the database's own dialect. The modules of the other one are never loaded."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(recipient_usage)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(recipient_usage)
