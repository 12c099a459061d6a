"""Rows of recipients, read and written in a transaction of the caller."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from sqlalchemy import Row, insert, or_, select, update

from sluicegate.api.errors import InvalidRequest, NotFound
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.config.yaml import nearest
from sluicegate.database.admin_tables import activation_links
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import check_name, name_key
from sluicegate.database.statements.similar_names import similar_names
from sluicegate.database.tables import recipients


def check_lifetime(seconds: int | None) -> None:
    """Check the lifetime of a credential."""
    if seconds is not None and not 0 < seconds <= LONGEST_TOKEN:
        raise InvalidRequest("a token's lifetime is between 1s and 365d")


async def insert_recipient(
    connection: AsyncConnection,
    name: str,
    *,
    comment: str | None,
    token_lifetime: int | None,
    now: int,
) -> str:
    """Insert a recipient without grants and credentials, and return its id."""
    try:
        check_name("recipient", name)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    check_lifetime(token_lifetime)
    if await _find(connection, name):
        raise InvalidRequest(f"there is a recipient '{name}' already; rotate it to issue a new token")
    recipient_id = str(uuid4())
    await connection.execute(
        insert(recipients).values(
            id=recipient_id,
            key=name_key(name),
            name=name,
            comment=comment,
            token_lifetime=token_lifetime,
            allow_from=[],
            properties={},
            created_at=now,
        )
    )
    return recipient_id


async def existing_recipient(connection: AsyncConnection, name: str) -> Row[Any]:
    """The row of a recipient."""
    recipient = await _find(connection, name)
    if recipient is None:
        known = await similar_names(connection, recipients, name)
        raise NotFound(f"there is no recipient '{name}'{nearest(name, known)}")
    return recipient


async def set_revoked(connection: AsyncConnection, recipient_id: str, at: int | None) -> None:
    """Revoke a recipient at a time (epoch milliseconds), or restore it with `None`."""
    kept = {} if at is None else {"last_revoked_at": at}
    await connection.execute(
        update(recipients).where(recipients.c.id == recipient_id).values(revoked_at=at, **kept)
    )


async def withdraw_links(connection: AsyncConnection, recipient_id: str, now: int) -> None:
    """Withdraw the activation links of a recipient that can still be used."""
    links = activation_links.c
    pending = (
        links.recipient_id == recipient_id,
        or_(links.used_at.is_(None), links.undelivered.is_not(None)),
        links.withdrawn_at.is_(None),
    )
    await connection.execute(update(activation_links).where(*pending).values(withdrawn_at=now))


async def _find(connection: AsyncConnection, name: str) -> Row[Any] | None:
    query = select(recipients).where(recipients.c.key == name_key(name))
    return (await connection.execute(query)).one_or_none()
