"""Reads what explanations need from the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from sqlalchemy import Row, select

from sluicegate.api.errors import NotFound
from sluicegate.api.models import Share
from sluicegate.config.yaml import nearest
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.reads import (
    CredentialRecord,
    RecipientRecord,
    load_recipient,
    recipient_of,
    share_of,
)
from sluicegate.database.tables import CredentialKind, grants, recipients, shares, tokens

_MOST_CREDENTIALS = 100


class UnknownName(NotFound):
    """Nothing has this name. The message contains the nearest known name."""


@dataclass(frozen=True, slots=True)
class HeldCredential:
    """A credential of a recipient, which may be expired or revoked."""

    kind: CredentialKind
    record: CredentialRecord


@dataclass(frozen=True, slots=True)
class KnownRecipient:
    """A recipient, its last credentials (the newest first), and the ids of its shares."""

    record: RecipientRecord
    credentials: tuple[HeldCredential, ...]
    shares: frozenset[str]


class Lookups:
    """Finds recipients and shares by name.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def recipient(self, name: str) -> KnownRecipient:
        """A recipient by name."""
        async with self._store.read() as connection:
            record = await load_recipient(connection, name)
            if record is None:
                known = list((await connection.execute(select(recipients.c.name))).scalars())
                raise UnknownName(f"there is no recipient '{name}'{nearest(name, sorted(known))}")
            held = (
                select(tokens)
                .where(tokens.c.recipient_id == record.id)
                .order_by(tokens.c.created_at.desc(), tokens.c.expires_at.desc())
                .limit(_MOST_CREDENTIALS)
            )
            granted = select(grants.c.share_id).where(grants.c.recipient_id == record.id)
            return KnownRecipient(
                record,
                tuple(_held(row, record) for row in await connection.execute(held)),
                frozenset((await connection.execute(granted)).scalars()),
            )

    async def share(self, name: str) -> Share:
        """A share by name."""
        async with self._store.read() as connection:
            found = (
                await connection.execute(select(shares).where(shares.c.key == name_key(name)))
            ).one_or_none()
            if found is None:
                known = list((await connection.execute(select(shares.c.name))).scalars())
                raise UnknownName(f"there is no share '{name}'{nearest(name, sorted(known))}")
            return share_of(found)

    async def granted(self, share: Share) -> list[KnownRecipient]:
        """The recipients that were granted a share, sorted by casefolded name, in three queries."""
        mine = select(grants.c.recipient_id).where(grants.c.share_id == share.id)
        async with self._store.read() as connection:
            found = await connection.execute(select(recipients).where(recipients.c.id.in_(mine)))
            rows = sorted(found, key=lambda row: row.key)
            held = await _credentials_of(connection, rows, tokens.c.recipient_id.in_(mine))
        granted = frozenset({share.id})
        return [KnownRecipient(recipient_of(row), tuple(held.get(row.id, ())), granted) for row in rows]


async def _credentials_of(
    connection: AsyncConnection, rows: list[Row[Any]], which: Any
) -> dict[str, list[HeldCredential]]:
    records = {row.id: recipient_of(row) for row in rows}
    query = select(tokens).where(which).order_by(tokens.c.created_at.desc(), tokens.c.expires_at.desc())
    held: dict[str, list[HeldCredential]] = {}
    for row in await connection.execute(query):
        mine = held.setdefault(row.recipient_id, [])
        if len(mine) < _MOST_CREDENTIALS:
            mine.append(_held(row, records[row.recipient_id]))
    return held


def _held(row: Row[Any], recipient: RecipientRecord) -> HeldCredential:
    kind = next(each for each in get_args(CredentialKind) if each == row.kind)
    return HeldCredential(
        kind, CredentialRecord(row.id, row.digest, recipient, row.expires_at, row.revoked_at)
    )
