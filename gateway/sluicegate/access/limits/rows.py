"""Statements about the limits and the use of recipients."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select

from sluicegate.access.limits.daily_use import NOTHING, Amount, UseKey
from sluicegate.access.limits.models import RecipientLimits
from sluicegate.access.recipients.rows import existing_recipient
from sluicegate.access.recipients.summaries import RecipientSelection
from sluicegate.config.sections.limits import RecipientLimitSettings
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.clock import NOW
from sluicegate.database.statements.upserts import insert_into
from sluicegate.database.tables import daily_usage, recipients

RETENTION_DAYS = 400
_BATCH = 500
# Most transactions have committed this long after they wrote a row.
_COMMIT_SECONDS = 60


async def load_limits(connection: AsyncConnection) -> dict[str, Mapping[str, Any]]:
    """The limits of the recipients that have some in the shares file, by their ids."""
    query = select(recipients.c.id, recipients.c.limits).where(recipients.c.limits.is_not(None))
    return {row.id: row.limits for row in await connection.execute(query)}


async def load_use(
    connection: AsyncConnection,
    day: int,
    seconds: float | None = None,
    *,
    subjects: Collection[str] | None = None,
) -> dict[str, Amount]:
    """What recipients and addresses were offered on a day."""
    columns = daily_usage.c
    query = select(columns.subject, columns.files, columns.bytes).where(columns.day == day)
    if seconds is not None:
        query = query.where(columns.written_at >= NOW - int((seconds + _COMMIT_SECONDS) * 1000))
    if subjects is not None:
        query = query.where(columns.subject.in_(subjects))
    rows = await connection.execute(query)
    return {row.subject: Amount(row.files, row.bytes) for row in rows}


async def load_use_of(connection: AsyncConnection, subject: str, day: int) -> Amount:
    """What a recipient or address was offered on a day."""
    columns = daily_usage.c
    query = select(columns.files, columns.bytes).where(columns.day == day, columns.subject == subject)
    row = (await connection.execute(query)).one_or_none()
    return NOTHING if row is None else Amount(row.files, row.bytes)


async def add_use(connection: AsyncConnection, use: Mapping[UseKey, Amount]) -> None:
    """Add to what recipients and addresses were offered."""
    # In one order, so that gateways that write at the same time wait, and never for each other.
    rows = [
        {"subject": subject, "day": day, "files": amount.files, "bytes": amount.bytes}
        for (subject, day), amount in sorted(use.items())
    ]
    for start in range(0, len(rows), _BATCH):
        await _upsert(connection, rows[start : start + _BATCH])


async def delete_old_use(connection: AsyncConnection, day: int) -> None:
    """Delete what is older than `RETENTION_DAYS` on a day."""
    oldest = day - RETENTION_DAYS
    await connection.execute(delete(daily_usage).where(daily_usage.c.day < oldest))


async def _upsert(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> None:
    statement = insert_into(daily_usage, connection.dialect.name).values(written_at=NOW)
    columns = daily_usage.c
    added = {name: columns[name] + statement.excluded[name] for name in ("files", "bytes")}
    changed = added | {"written_at": NOW}
    keys = ["day", "subject"]
    await connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), rows)


@dataclass(frozen=True, slots=True)
class RecipientUse:
    """What a recipient is allowed, and what it was offered on a day."""

    id: str
    name: str
    limits: RecipientLimits
    offered: Amount


async def recipient_use(
    connection: AsyncConnection, recipient: str, defaults: RecipientLimitSettings, day: int
) -> RecipientUse:
    """The limits and the use of one recipient; see `list_use`."""
    row = await existing_recipient(connection, recipient)
    limits = RecipientLimits.of(defaults, row.limits or {})
    return RecipientUse(row.id, row.name, limits, await load_use_of(connection, row.id, day))


async def list_use(
    connection: AsyncConnection,
    defaults: RecipientLimitSettings,
    day: int,
    selection: RecipientSelection,
) -> list[RecipientUse]:
    """The limits and the use of recipients, sorted by casefolded name."""
    query = select(recipients).where(selection.condition).order_by(recipients.c.key)
    rows = (await connection.execute(query.limit(selection.limit))).all()
    use = await load_use(connection, day, subjects=[row.id for row in rows])
    return [
        RecipientUse(
            row.id,
            row.name,
            RecipientLimits.of(defaults, row.limits or {}),
            use.get(row.id, NOTHING),
        )
        for row in rows
    ]
