"""Stores bearer tokens that another server issued, so that recipients can keep their profiles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import insert, select, update

from sluicegate.access.recipients.secrets import digest
from sluicegate.api.errors import InvalidRequest
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.reads import IMPORTED
from sluicegate.database.tables import recipients, tokens

LONGEST_IMPORTED = 10 * 365 * 86_400
"""Seconds. The gateway's own tokens live for a year at most."""

# Visible ASCII: what clients can send in a header without encoding it.
_SENDABLE = re.compile(r"[\x21-\x7e]{1,4096}")
_STRONG_LENGTH = 32
_STRONG_VARIETY = 10


@dataclass(frozen=True, slots=True)
class ImportedToken:
    """A token after its import.

    Attributes:
        expires_at: Epoch milliseconds.
        known: Whether it was imported before; then only its expiry changed.
    """

    recipient: str
    expires_at: int
    known: bool


def is_acceptable(token: str) -> bool:
    """Whether clients can send a token: 1 to 4,096 visible ASCII characters."""
    return _SENDABLE.fullmatch(token) is not None


def is_guessable(token: str) -> bool:
    """Whether a token is shorter, or has fewer different characters, than a random one of 128 bits."""
    return len(token) < _STRONG_LENGTH or len(set(token)) < _STRONG_VARIETY


async def import_token(
    connection: AsyncConnection, recipient: str, token: str, lifetime: int, now: int
) -> ImportedToken:
    """Store the digest of a token for a recipient, in a transaction of the caller."""
    if not 0 < lifetime <= LONGEST_IMPORTED:
        raise InvalidRequest("an imported token's lifetime is between 1s and 3650d")
    holder = (
        await connection.execute(select(recipients).where(recipients.c.key == name_key(recipient)))
    ).one_or_none()
    if holder is None:
        raise InvalidRequest(f"there is no recipient '{recipient}'; apply the shares file first")
    if holder.revoked_at is not None:
        raise InvalidRequest(
            f"the recipient '{recipient}' is revoked; to let it in again, run `sluicegate recipient "
            "restore`, or import the token for another recipient"
        )
    expires_at = now + lifetime * 1000
    mine = tokens.c.digest == digest(token)
    stored = (await connection.execute(select(tokens).where(mine))).one_or_none()
    if stored is None:
        values = {"id": f"{IMPORTED}{uuid4()}", "recipient_id": holder.id, "kind": "bearer"}
        times = {"created_at": now, "expires_at": expires_at}
        await connection.execute(insert(tokens).values(digest=digest(token), **values, **times))
        return ImportedToken(holder.name, expires_at, known=False)
    if stored.recipient_id != holder.id or stored.kind != "bearer":
        raise InvalidRequest("the token belongs to another recipient; select it with --recipient")
    if stored.revoked_at is not None:
        raise InvalidRequest("the token was revoked; rotate the recipient to issue a new one")
    # A token with a new expiry is reported again before that.
    renewed = update(tokens).where(mine).values(expires_at=expires_at, warned_at=None)
    await connection.execute(renewed)
    return ImportedToken(holder.name, expires_at, known=True)
