"""Creates activation links, and issues the credential of a link when it is used."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, Update, delete, insert, select, update

from sluicegate._util.clock import epoch_ms
from sluicegate.access.activation.link import ASK, RULE, Link, LinkState, NewLink
from sluicegate.access.recipients.credentials import Credentials, IssuedCredential
from sluicegate.access.recipients.rows import existing_recipient, withdraw_links
from sluicegate.access.recipients.secrets import digest
from sluicegate.access.recipients.service import RecipientIssuer, Requested
from sluicegate.api.errors import NotFound
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.database import Store
from sluicegate.database.admin_tables import activation_links
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.reads import RecipientRecord, load_recipient
from sluicegate.database.tables import recipients, tokens

# Hexadecimal, because mail programs end a link before punctuation at its end.
_TOKEN = re.compile(r"slga_[0-9a-f]{48}")
_RANDOM_BYTES = 24
# Used and expired links are stored for this time, so that the error is not "unknown".
_KEPT_AFTER_END = 90 * 86_400 * 1000
# Within this time, a profile leaves the gateway, or its process has ended, so that nobody has it.
_DELIVERY = 60_000


class ActivationLinks(RecipientIssuer[NewLink]):
    """Creates, reads and uses links.

    A rotation withdraws earlier links that were not used. Existing credentials remain valid until the
    new link is used, and then for the grace period.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(
        self, store: Store, settings: RecipientSettings, *, now: Callable[[], int] = epoch_ms
    ) -> None:
        super().__init__(store, settings.rotation_grace, now)
        self._settings = settings
        self._credentials = Credentials(now)

    async def find(self, token: str) -> Link:
        """Read a link without using it."""
        presented = _digest(token)
        async with self._store.read() as connection:
            return await self._link(connection, await _row(connection, presented))

    async def latest(self, recipient: str) -> Link | None:
        """The newest link of a recipient, in whatever state; `None` if it has none."""
        async with self._store.read() as connection:
            holder = await existing_recipient(connection, recipient)
            query = (
                select(activation_links)
                .where(activation_links.c.recipient_id == holder.id)
                .order_by(
                    activation_links.c.created_at.desc(), activation_links.c.withdrawn_at.is_not(None)
                )
                .limit(1)
            )
            row = (await connection.execute(query)).one_or_none()
            return None if row is None else await self._link(connection, row)

    async def withdraw(self, name: str) -> None:
        """Withdraw the links of a recipient that were not used yet."""
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            await withdraw_links(connection, recipient.id, self._now())

    async def use(self, token: str) -> IssuedCredential:
        """Issue the credential of a link. Of several concurrent calls, one succeeds.

        Call `delivered` when the profile has left the gateway. Otherwise, the link can be used again
        after `take_back`, or after a minute, because the process can end before it calls either. The
        credential that nobody received is then revoked.
        """
        presented = _digest(token)
        async with self._store.write(["credentials"]) as connection:
            row = await _row(connection, presented)
            link = await self._link(connection, row)
            link.check_pending()
            now = self._now()
            if row.undelivered is not None:
                await self._credentials.revoke_one(connection, row.recipient_id, row.undelivered)
            await self._credentials.end(connection, row.recipient_id, now + row.grace * 1000)
            holder = row.recipient_id, link.recipient.name
            lifetime = await self._lifetime(connection, row)
            issued = await self._credentials.issue(
                connection, holder, row.kind, lifetime, row.issued_for
            )
            used = update(activation_links).where(activation_links.c.id == row.id)
            await connection.execute(used.values(used_at=now, undelivered=issued.id))
            return replace(issued, replaces=row.undelivered)

    async def delivered(self, issued: IssuedCredential) -> None:
        """Note that the profile with a credential has left the gateway: its link works no more."""
        async with self._store.append() as connection:
            await connection.execute(_link_of(issued).values(undelivered=None))

    async def take_back(self, issued: IssuedCredential) -> None:
        """Revoke a credential that nobody received, so that its link can be used again."""
        async with self._store.write(["credentials"]) as connection:
            mine = select(tokens.c.recipient_id).where(tokens.c.id == issued.id)
            recipient_id = (await connection.execute(mine)).scalar_one_or_none()
            if recipient_id is not None:
                await self._credentials.revoke_one(connection, recipient_id, issued.id)
            await connection.execute(_link_of(issued).values(used_at=None, undelivered=None))

    async def _supersede(self, connection: AsyncConnection, recipient_id: str, grace: int) -> None:
        await withdraw_links(connection, recipient_id, self._now())

    async def _issue(self, connection: AsyncConnection, requested: Requested) -> NewLink:
        """Create a link. Links that ended long ago are removed."""
        recipient_id, name = requested.holder
        issued_for = requested.issued_for
        now, token = self._now(), f"slga_{secrets.token_hex(_RANDOM_BYTES)}"
        forgotten = activation_links.c.expires_at < now - _KEPT_AFTER_END
        await connection.execute(delete(activation_links).where(forgotten))
        expires_at = now + self._settings.activation_lifetime * 1000
        await connection.execute(
            insert(activation_links).values(
                id=str(uuid4()),
                recipient_id=recipient_id,
                digest=digest(token),
                kind=requested.kind,
                token_lifetime=requested.token_lifetime,
                grace=requested.grace,
                created_at=now,
                expires_at=expires_at,
                issued_for=None if issued_for is None else sorted(issued_for),
            )
        )
        return NewLink(name, token, expires_at)

    async def _link(self, connection: AsyncConnection, row: Row[Any]) -> Link:
        name = select(recipients.c.name).where(recipients.c.id == row.recipient_id)
        recipient = await load_recipient(connection, (await connection.execute(name)).scalar_one())
        assert recipient is not None  # noqa: S101 # rows refer to an existing recipient
        state = self._state(row, recipient)
        is_in_use = state == "used" and row.undelivered is not None
        return Link(
            recipient, state, row.expires_at, row.used_at, is_in_use, row.issued_for is not None
        )

    def _state(self, row: Row[Any], recipient: RecipientRecord) -> LinkState:
        if row.used_at is not None and not self._is_given_back(row):
            return "used"
        if row.withdrawn_at is not None or recipient.revoked_at is not None:
            return "withdrawn"
        return "expired" if row.expires_at <= self._now() else "pending"

    def _is_given_back(self, row: Row[Any]) -> bool:
        """Whether a link was used, and its profile has not left the gateway in time."""
        return row.undelivered is not None and self._now() >= row.used_at + _DELIVERY

    async def _lifetime(self, connection: AsyncConnection, row: Row[Any]) -> int:
        query = select(recipients.c.token_lifetime).where(recipients.c.id == row.recipient_id)
        of_recipient = (await connection.execute(query)).scalar_one()
        lifetime = row.token_lifetime or of_recipient or self._settings.token_lifetime
        return min(int(lifetime), LONGEST_TOKEN)


def _link_of(issued: IssuedCredential) -> Update:
    return update(activation_links).where(activation_links.c.undelivered == issued.id)


def _digest(token: str) -> bytes:
    if not _TOKEN.fullmatch(token):
        raise _unknown()
    return digest(token)


async def _row(connection: AsyncConnection, presented: bytes) -> Row[Any]:
    # An index is searched for the digest, so the time reveals nothing about other tokens.
    query = select(activation_links).where(activation_links.c.digest == presented)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise _unknown()
    return row


def _unknown() -> NotFound:
    missing = NotFound(f"there is no such activation link: copy all of it, or {ASK}")
    return missing.decided_by(RULE)
