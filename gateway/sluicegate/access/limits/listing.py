"""Lists the limits of recipients, and what they were offered on a day."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from sluicegate.access.limits.daily_use import NOTHING, Amount
from sluicegate.access.limits.models import RecipientLimits
from sluicegate.access.limits.rows import load_use, load_use_of
from sluicegate.access.recipients.rows import existing_recipient
from sluicegate.access.recipients.summaries import RecipientSelection
from sluicegate.config.sections.limits import RecipientLimitSettings
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import recipients


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
