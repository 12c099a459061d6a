"""Creates recipients, and issues, rotates and revokes their credentials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import ColumnElement

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.credentials import Credentials, IssuedCredential
from sluicegate.access.recipients.issuing import RecipientIssuer, Requested
from sluicegate.access.recipients.rows import existing_recipient, set_revoked, withdraw_links
from sluicegate.access.recipients.summaries import (
    ALL_RECIPIENTS,
    RecipientSelection,
    RecipientSummary,
    count_recipients,
    read_summaries,
    recipient_names,
)
from sluicegate.api.errors import NotFound
from sluicegate.config.model import LONGEST_TOKEN
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection


class Recipients(RecipientIssuer[IssuedCredential]):
    """The service for `sluicegate recipient` and the admin API.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(
        self,
        store: Store,
        *,
        token_lifetime: int,
        rotation_grace: int,
        now: Callable[[], int] = epoch_ms,
    ) -> None:
        super().__init__(store, rotation_grace, now)
        self._token_lifetime = token_lifetime
        self._credentials = Credentials(now)

    async def revoke(self, name: str) -> int:
        """Revoke all access of a recipient, its credentials, and its unused activation links.

        Returns:
            The number of credentials that were valid.
        """
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            await set_revoked(connection, recipient.id, self._now())
            await withdraw_links(connection, recipient.id, self._now())
            return await self._credentials.revoke(connection, recipient.id)

    async def revoke_credential(self, name: str, credential_id: str) -> None:
        """Revoke one token or OAuth client of a recipient. Its other access does not change."""
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            if not await self._credentials.revoke_one(connection, recipient.id, credential_id):
                raise NotFound(f"'{recipient.name}' has no valid credential '{credential_id}'")

    async def restore(self, name: str) -> None:
        """Restore access of a revoked recipient with tokens of other issuers, such as OIDC.

        Credentials that the gateway issued stay revoked. `rotate` issues new ones.
        """
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            await set_revoked(connection, recipient.id, None)

    async def names(self, selection: RecipientSelection) -> Sequence[str]:
        """The names of recipients."""
        async with self._store.read() as connection:
            return await recipient_names(connection, selection)

    async def count(self, *wheres: ColumnElement[bool]) -> list[int]:
        """The numbers of recipients that fulfill conditions."""
        async with self._store.read() as connection:
            return [await count_recipients(connection, RecipientSelection(where)) for where in wheres]

    async def list(self, selection: RecipientSelection = ALL_RECIPIENTS) -> list[RecipientSummary]:
        """Recipients, by default all, sorted by casefolded name."""
        async with self._store.read() as connection:
            return await read_summaries(connection, selection, self._now())

    async def _supersede(self, connection: AsyncConnection, recipient_id: str, grace: int) -> None:
        await self._credentials.end(connection, recipient_id, self._now() + grace * 1000)

    async def _issue(self, connection: AsyncConnection, requested: Requested) -> IssuedCredential:
        wanted = requested.token_lifetime or requested.recipient_lifetime or self._token_lifetime
        lifetime = min(wanted, LONGEST_TOKEN)  # recipients of earlier versions may have more
        return await self._credentials.issue(
            connection, requested.holder, requested.kind, lifetime, requested.issued_for
        )
