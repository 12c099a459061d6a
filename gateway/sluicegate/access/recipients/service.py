"""Creates recipients, and issues, rotates and revokes their credentials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.credentials import Credentials, IssuedCredential
from sluicegate.access.recipients.issuers import check_issuer
from sluicegate.access.recipients.rows import (
    check_lifetime,
    existing_recipient,
    insert_recipient,
    set_revoked,
    withdraw_links,
)
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
from sluicegate.database.tables import CredentialKind

_Issued = TypeVar("_Issued")


@dataclass(frozen=True, slots=True)
class Requested:
    """A requested credential.

    Attributes:
        token_lifetime: Seconds, for this credential only; `None` for that of the recipient.
        recipient_lifetime: Seconds, for credentials of the recipient; `None` for the default.
        grace: Seconds for which earlier credentials remain valid.
        issued_for: Casefolded names of the only shares that the issuer manages; `None` for all.
    """

    holder: tuple[str, str]
    kind: CredentialKind
    token_lifetime: int | None
    recipient_lifetime: int | None = None
    grace: int = 0
    issued_for: Collection[str] | None = None


class RecipientIssuer(ABC, Generic[_Issued]):
    """The steps that do not depend on what a recipient gets."""

    def __init__(self, store: Store, rotation_grace: int, now: Callable[[], int]) -> None:
        self._store = store
        self._rotation_grace = rotation_grace
        self._now = now

    async def create(
        self,
        name: str,
        *,
        kind: CredentialKind = "bearer",
        comment: str | None = None,
        token_lifetime: int | None = None,
    ) -> _Issued:
        """Create a recipient with its first credential, or the link that issues it."""
        async with self._store.write(["credentials"]) as connection:
            recipient_id = await insert_recipient(
                connection, name, comment=comment, token_lifetime=token_lifetime, now=self._now()
            )
            return await self._issue(connection, Requested((recipient_id, name), kind, token_lifetime))

    async def rotate(
        self,
        name: str,
        *,
        kind: CredentialKind = "bearer",
        token_lifetime: int | None = None,
        grace: int | None = None,
        issued_for: Collection[str] | None = None,
    ) -> _Issued:
        """Issue a new credential or link. Old credentials expire after the grace period, or earlier.

        Access of a revoked recipient is restored, but its old credentials stay revoked.

        Args:
            name: An existing recipient, even if it never had a credential.
        """
        check_lifetime(token_lifetime)
        grace = self._rotation_grace if grace is None else grace
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            await check_issuer(connection, recipient, issued_for)
            await self._supersede(connection, recipient.id, grace)
            await set_revoked(connection, recipient.id, None)
            holder, own_lifetime = (recipient.id, recipient.name), recipient.token_lifetime
            requested = Requested(holder, kind, token_lifetime, own_lifetime, grace, issued_for)
            return await self._issue(connection, requested)

    @abstractmethod
    async def _supersede(self, connection: AsyncConnection, recipient_id: str, grace: int) -> None:
        """End what was issued to a recipient before."""

    @abstractmethod
    async def _issue(self, connection: AsyncConnection, requested: Requested) -> _Issued:
        """Issue a credential, or a link to it."""


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
