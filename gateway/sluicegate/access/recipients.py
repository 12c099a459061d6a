"""Creates recipients, and issues, rotates and revokes their tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, and_, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.access.tokens import digest, new_token
from sluicegate.clock import epoch_ms
from sluicegate.errors import InvalidRequest, NotFound
from sluicegate.store import Store
from sluicegate.store.names import check_name, name_key
from sluicegate.store.tables import grants, recipients, shares, tokens
from sluicegate.yamlfile import nearest

MAX_TOKEN_LIFETIME = 100 * 365 * 86_400
# Tokens that ended are kept this long, so that their holders hear "expired" and not "unknown".
_KEPT_AFTER_END = 30 * 86_400 * 1000


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token in the only moment in which its text is known.

    Attributes:
        expires_at: Epoch milliseconds.
    """

    recipient: str
    token: str = field(repr=False)
    expires_at: int


@dataclass(frozen=True, slots=True)
class RecipientSummary:
    """A recipient, for lists.

    Attributes:
        tokens: How many tokens are valid now.
        expires_at: When the last of them expires, epoch milliseconds.
    """

    id: str
    name: str
    comment: str | None
    shares: tuple[str, ...]
    allow_from: tuple[str, ...]
    created_at: int
    tokens: int
    expires_at: int | None


class Recipients:
    """The service behind `sluicegate recipient` and the admin API.

    Args:
        store: The open database.
        token_lifetime: Seconds that a token lives where neither caller nor recipient says.
        rotation_grace: Seconds that the old tokens live on after a rotation.
        now: Epoch milliseconds.

    Every method raises `Unavailable` when the database does not answer.
    """

    def __init__(
        self,
        store: Store,
        *,
        token_lifetime: int,
        rotation_grace: int,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        self._store = store
        self._token_lifetime = token_lifetime
        self._rotation_grace = rotation_grace
        self._now = now

    async def create(
        self, name: str, *, comment: str | None = None, token_lifetime: int | None = None
    ) -> IssuedToken:
        """Create a recipient with its first token.

        Args:
            name: By the rules of share names, case-insensitive.
            comment: For people.
            token_lifetime: Seconds; also for the tokens of later rotations.

        Raises:
            InvalidRequest: The name breaks a rule or is taken, or the lifetime is out of range.
        """
        _check(name, token_lifetime)
        async with self._store.write() as connection:
            if await _find(connection, name):
                raise InvalidRequest(
                    f"there is a recipient '{name}' already; rotate it to give it a new token"
                )
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
                    created_at=self._now(),
                )
            )
            return await self._issue(connection, recipient_id, name, token_lifetime)

    async def rotate(
        self, name: str, *, token_lifetime: int | None = None, grace: int | None = None
    ) -> IssuedToken:
        """Give a recipient a new token; the old ones end after the grace period, or sooner.

        Args:
            name: An existing recipient, also one that never had a token.
            token_lifetime: Seconds, for this token only.
            grace: Seconds that the old tokens live on; 0 ends them now.

        Raises:
            NotFound: There is no such recipient.
            InvalidRequest: The lifetime is out of range.
        """
        _check_lifetime(token_lifetime)
        grace = self._rotation_grace if grace is None else grace
        async with self._store.write() as connection:
            recipient = await _existing(connection, name)
            await self._end_old(connection, recipient.id, self._now() + grace * 1000)
            lifetime = token_lifetime or recipient.token_lifetime
            return await self._issue(connection, recipient.id, recipient.name, lifetime)

    async def revoke(self, name: str) -> int:
        """End all tokens of a recipient at once; how many were still valid.

        Raises:
            NotFound: There is no such recipient.
        """
        async with self._store.write() as connection:
            recipient = await _existing(connection, name)
            ended = await connection.execute(
                update(tokens)
                .where(tokens.c.recipient_id == recipient.id, self._is_valid())
                .values(revoked_at=self._now())
            )
            return ended.rowcount

    async def list(self) -> list[RecipientSummary]:
        """All recipients, sorted by casefolded name."""
        async with self._store.read() as connection:
            found = (await connection.execute(select(recipients))).all()
            granted = await _shares_by_recipient(connection)
            valid = await self._valid_tokens(connection)
        return [
            RecipientSummary(
                row.id,
                row.name,
                row.comment,
                tuple(granted.get(row.id, ())),
                tuple(row.allow_from),
                row.created_at,
                *valid.get(row.id, (0, None)),
            )
            for row in sorted(found, key=lambda row: row.key)
        ]

    async def _issue(
        self, connection: AsyncConnection, recipient_id: str, name: str, lifetime: int | None
    ) -> IssuedToken:
        now, token = self._now(), new_token()
        expires_at = now + (lifetime or self._token_lifetime) * 1000
        await connection.execute(
            insert(tokens).values(
                id=str(uuid4()),
                recipient_id=recipient_id,
                digest=digest(token),
                created_at=now,
                expires_at=expires_at,
            )
        )
        return IssuedToken(name, token, expires_at)

    async def _end_old(self, connection: AsyncConnection, recipient_id: str, at: int) -> None:
        mine = tokens.c.recipient_id == recipient_id
        forgotten = self._now() - _KEPT_AFTER_END
        ended = or_(tokens.c.expires_at < forgotten, tokens.c.revoked_at < forgotten)
        await connection.execute(delete(tokens).where(mine, ended))
        await connection.execute(
            update(tokens).where(mine, tokens.c.expires_at > at).values(expires_at=at)
        )

    def _is_valid(self) -> Any:
        return and_(tokens.c.revoked_at.is_(None), tokens.c.expires_at > self._now())

    async def _valid_tokens(self, connection: AsyncConnection) -> dict[str, tuple[int, int]]:
        query = (
            select(tokens.c.recipient_id, func.count(), func.max(tokens.c.expires_at))
            .where(self._is_valid())
            .group_by(tokens.c.recipient_id)
        )
        return {row[0]: (row[1], row[2]) for row in await connection.execute(query)}


def _check(name: str, token_lifetime: int | None) -> None:
    try:
        check_name("recipient", name)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    _check_lifetime(token_lifetime)


def _check_lifetime(seconds: int | None) -> None:
    if seconds is not None and not 0 < seconds <= MAX_TOKEN_LIFETIME:
        raise InvalidRequest("a token's lifetime is between 1s and 36500d")


async def _find(connection: AsyncConnection, name: str) -> Row[Any] | None:
    query = select(recipients).where(recipients.c.key == name_key(name))
    return (await connection.execute(query)).one_or_none()


async def _existing(connection: AsyncConnection, name: str) -> Row[Any]:
    recipient = await _find(connection, name)
    if recipient is None:
        query = select(recipients.c.name).order_by(recipients.c.key)
        known = (await connection.execute(query)).scalars().all()
        raise NotFound(f"there is no recipient '{name}'{nearest(name, known)}")
    return recipient


async def _shares_by_recipient(connection: AsyncConnection) -> dict[str, list[str]]:
    query = (
        select(grants.c.recipient_id, shares.c.name)
        .join(shares, shares.c.id == grants.c.share_id)
        .order_by(shares.c.key)
    )
    found: dict[str, list[str]] = {}
    for recipient_id, share in await connection.execute(query):
        found.setdefault(recipient_id, []).append(share)
    return found
