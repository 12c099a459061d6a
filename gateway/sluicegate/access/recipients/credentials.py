"""The credentials of recipients in the database: bearer tokens and OAuth clients."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from uuid import uuid4

from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, true, update

from sluicegate.access.recipients.secrets import digest, new_secret
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import CredentialKind, tokens

# Expired credentials are stored for this time, so that the error is "expired" and not "unknown".
_KEPT_AFTER_END = 30 * 86_400 * 1000


@dataclass(frozen=True, slots=True)
class IssuedCredential:
    """A new credential. Its secret is known only now, because the database stores a digest.

    Attributes:
        expires_at: Epoch milliseconds.
        client_id: Client id of an OAuth client; `None` for a bearer token.
        replaces: Id of a credential that was revoked for it, because its profile was not delivered.
    """

    recipient: str
    secret: str = field(repr=False)
    expires_at: int
    client_id: str | None = None
    id: str = ""
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class ValidCredentials:
    """The valid credentials of a recipient.

    Attributes:
        expires_at: When the last of them expires, epoch milliseconds.
    """

    count: int = 0
    kinds: tuple[str, ...] = ()
    expires_at: int | None = None


class Credentials:
    """Reads and writes credentials of recipients in a transaction of the caller."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now

    async def issue(
        self,
        connection: AsyncConnection,
        recipient: tuple[str, str],
        kind: CredentialKind,
        lifetime: int,
        issued_for: Collection[str] | None = None,
    ) -> IssuedCredential:
        """Create a credential for a recipient (its id and name), valid for `lifetime` seconds.

        `issued_for` are casefolded names of the only shares that the issuer manages; `None` for all.
        """
        now, secret, credential_id = self._now(), new_secret(kind), str(uuid4())
        recipient_id, name = recipient
        expires_at = now + lifetime * 1000
        await connection.execute(
            insert(tokens).values(
                id=credential_id,
                recipient_id=recipient_id,
                kind=kind,
                digest=digest(secret),
                created_at=now,
                expires_at=expires_at,
                issued_for=None if issued_for is None else sorted(issued_for),
            )
        )
        client_id = credential_id if kind == "oauth" else None
        return IssuedCredential(name, secret, expires_at, client_id, credential_id)

    async def end(self, connection: AsyncConnection, recipient_id: str, at: int) -> None:
        """Set the expiry of all of a recipient's credentials to a time, unless they expire earlier."""
        mine = tokens.c.recipient_id == recipient_id
        forgotten = self._now() - _KEPT_AFTER_END
        ended = or_(tokens.c.expires_at < forgotten, tokens.c.revoked_at < forgotten)
        await connection.execute(delete(tokens).where(mine, ended))
        await connection.execute(
            update(tokens).where(mine, tokens.c.expires_at > at).values(expires_at=at)
        )

    async def revoke(self, connection: AsyncConnection, recipient_id: str) -> int:
        """Revoke all of a recipient's credentials, and return how many were valid."""
        ended = await connection.execute(
            update(tokens)
            .where(tokens.c.recipient_id == recipient_id, is_valid(self._now()))
            .values(revoked_at=self._now())
        )
        return ended.rowcount

    async def revoke_one(
        self, connection: AsyncConnection, recipient_id: str, credential_id: str
    ) -> bool:
        """Revoke one credential of a recipient, and return whether it was valid."""
        mine = and_(tokens.c.recipient_id == recipient_id, tokens.c.id == credential_id)
        ended = await connection.execute(
            update(tokens).where(mine, is_valid(self._now())).values(revoked_at=self._now())
        )
        return bool(ended.rowcount)


def is_valid(now: int) -> ColumnElement[bool]:
    """Whether a row of `tokens` is a valid credential."""
    return and_(tokens.c.revoked_at.is_(None), tokens.c.expires_at > now)


async def valid_credentials(
    connection: AsyncConnection, now: int, recipients: Collection[str] | None = None
) -> dict[str, ValidCredentials]:
    """The valid credentials of recipients, by the recipients' ids."""
    query = (
        select(tokens.c.recipient_id, tokens.c.kind, func.count(), func.max(tokens.c.expires_at))
        .where(is_valid(now), true() if recipients is None else tokens.c.recipient_id.in_(recipients))
        .group_by(tokens.c.recipient_id, tokens.c.kind)
        .order_by(tokens.c.kind)
    )
    found: dict[str, ValidCredentials] = {}
    for recipient_id, kind, count, expires_at in await connection.execute(query):
        known = found.get(recipient_id, ValidCredentials())
        latest = max(expires_at, known.expires_at or 0)
        found[recipient_id] = ValidCredentials(known.count + count, (*known.kinds, kind), latest)
    return found
