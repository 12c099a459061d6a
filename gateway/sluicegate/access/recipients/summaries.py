"""Recipients with their grants and valid credentials, in parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, func, or_, select, true

from sluicegate.access.recipients.credentials import ValidCredentials, is_valid, valid_credentials
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.tables import grants, recipients, shares, tokens


@dataclass(frozen=True, slots=True)
class RecipientSummary:
    """A recipient, for lists.

    Attributes:
        revoked_at: Time of its revocation, epoch milliseconds.
        expires_at: Time at which the last of them expires, epoch milliseconds.
    """

    id: str
    name: str
    comment: str | None
    shares: tuple[str, ...]
    allow_from: tuple[str, ...]
    created_at: int
    revoked_at: int | None
    tokens: int
    kinds: tuple[str, ...]
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class RecipientSelection:
    """Selects recipients.

    Attributes:
        order: What they are sorted by, before their casefolded names.
        after: The casefolded name of the last recipient before.
        limit: Maximum number of recipients; `None` for all.
    """

    where: ColumnElement[bool] | None = None
    order: tuple[ColumnElement[Any], ...] = ()
    after: str | None = None
    offset: int = 0
    limit: int | None = None

    @property
    def condition(self) -> ColumnElement[bool]:
        """All conditions."""
        where = true() if self.where is None else self.where
        return where if self.after is None else and_(where, recipients.c.key > self.after)


ALL_RECIPIENTS = RecipientSelection()
"""All recipients."""


async def read_summaries(
    connection: AsyncConnection, selection: RecipientSelection, now: int
) -> list[RecipientSummary]:
    """The selected recipients."""
    query = (
        select(recipients)
        .where(selection.condition)
        .order_by(*selection.order, recipients.c.key)
        .offset(selection.offset)
        .limit(selection.limit)
    )
    rows = (await connection.execute(query)).all()
    # Of many, all are read: the databases limit the number of values in a statement.
    ids = None if selection.limit is None else [row.id for row in rows]
    granted = await _shares_by_recipient(connection, ids)
    valid = await valid_credentials(connection, now, ids)
    return [
        _summary(row, granted.get(row.id, []), valid.get(row.id, ValidCredentials())) for row in rows
    ]


async def recipient_names(connection: AsyncConnection, selection: RecipientSelection) -> Sequence[str]:
    """The names of the selected recipients."""
    query = select(recipients.c.name).where(selection.condition).order_by(recipients.c.key)
    return (await connection.execute(query.limit(selection.limit))).scalars().all()


async def count_recipients(connection: AsyncConnection, selection: RecipientSelection) -> int:
    """The number of recipients that the conditions select."""
    query = select(func.count()).select_from(recipients).where(selection.condition)
    return int((await connection.execute(query)).scalar_one())


def has_valid(now: int, after: int) -> ColumnElement[bool]:
    """Whether a recipient has a valid credential that expires after a time."""
    mine = tokens.c.recipient_id == recipients.c.id
    return select(tokens.c.id).where(mine, is_valid(now), tokens.c.expires_at > after).exists()


def ends(now: int, until: int) -> ColumnElement[bool]:
    """Whether the last valid credential of a recipient ends until a time."""
    lasts = or_(recipients.c.revoked_at.is_not(None), has_valid(now, until))
    return and_(has_valid(now, now), ~lasts)


def last_expiry(now: int) -> ColumnElement[int]:
    """When the last valid credential of a recipient expires."""
    mine = tokens.c.recipient_id == recipients.c.id
    return select(func.max(tokens.c.expires_at)).where(mine, is_valid(now)).scalar_subquery()


def reads_share(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a recipient has a grant of a share that fulfills a condition."""
    granted = select(grants.c.share_id).join(shares).where(grants.c.recipient_id == recipients.c.id)
    return granted.where(condition).exists()


def named_or_reads(text: str) -> ColumnElement[bool]:
    """Whether the name of a recipient, or of a share that it can read, contains a text, in any case."""
    key = name_key(text)
    name = recipients.c.key.contains(key, autoescape=True)
    return or_(name, reads_share(shares.c.key.contains(key, autoescape=True)))


def _summary(row: Row[Any], granted: list[str], valid: ValidCredentials) -> RecipientSummary:
    return RecipientSummary(
        id=row.id,
        name=row.name,
        comment=row.comment,
        shares=tuple(granted),
        allow_from=tuple(row.allow_from),
        created_at=row.created_at,
        revoked_at=row.revoked_at,
        tokens=valid.count,
        kinds=valid.kinds,
        expires_at=valid.expires_at,
    )


async def _shares_by_recipient(
    connection: AsyncConnection, ids: Collection[str] | None
) -> dict[str, list[str]]:
    query = (
        select(grants.c.recipient_id, shares.c.name)
        .join(shares, shares.c.id == grants.c.share_id)
        .where(true() if ids is None else grants.c.recipient_id.in_(ids))
        .order_by(shares.c.key)
    )
    found: dict[str, list[str]] = {}
    for recipient_id, share in await connection.execute(query):
        found.setdefault(recipient_id, []).append(share)
    return found
