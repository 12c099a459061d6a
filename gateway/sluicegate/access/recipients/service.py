"""Creates recipients, and issues, rotates and revokes their credentials."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

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
from sluicegate.database.tables import CredentialKind


class Recipients:
    """The service for `sluicegate recipient` and the admin API.

    Args:
        store: The open database.
        token_lifetime: Default lifetime of credentials in seconds.
        rotation_grace: Seconds for which old credentials remain valid after a rotation.
        now: Epoch milliseconds.

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
        self._store = store
        self._token_lifetime = token_lifetime
        self._rotation_grace = rotation_grace
        self._credentials = Credentials(now)
        self._now = now

    async def create(
        self,
        name: str,
        *,
        kind: CredentialKind = "bearer",
        comment: str | None = None,
        token_lifetime: int | None = None,
    ) -> IssuedCredential:
        """Create a recipient with its first credential.

        Args:
            name: A name that follows the rules of share names, case-insensitive.
            kind: A bearer token, or an OAuth client.
            comment: For people.
            token_lifetime: Seconds; also for the credentials of later rotations.

        Raises:
            InvalidRequest: The name breaks a rule or is taken, or the lifetime is out of range.
        """
        async with self._store.write(["credentials"]) as connection:
            recipient_id = await insert_recipient(
                connection, name, comment=comment, token_lifetime=token_lifetime, now=self._now()
            )
            lifetime = token_lifetime or self._token_lifetime
            return await self._credentials.issue(connection, (recipient_id, name), kind, lifetime)

    async def rotate(
        self,
        name: str,
        *,
        kind: CredentialKind = "bearer",
        token_lifetime: int | None = None,
        grace: int | None = None,
        issued_for: Collection[str] | None = None,
    ) -> IssuedCredential:
        """Issue a new credential. Old ones expire after the grace period, or earlier.

        Access of a revoked recipient is restored, but its old credentials stay revoked.

        Args:
            name: An existing recipient, even if it never had a credential.
            kind: A bearer token or an OAuth client, independent of earlier credentials.
            token_lifetime: Seconds, for this credential only.
            grace: Seconds for which old credentials remain valid; 0 ends them immediately.
            issued_for: Casefolded names of the only shares that the issuer manages; `None` for all.

        Raises:
            NotFound: The recipient does not exist.
            InvalidRequest: The lifetime is out of range.
            PermissionDenied: The issuer does not manage the recipient.
        """
        check_lifetime(token_lifetime)
        grace = self._rotation_grace if grace is None else grace
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            await check_issuer(connection, recipient, issued_for)
            await self._credentials.end(connection, recipient.id, self._now() + grace * 1000)
            await set_revoked(connection, recipient.id, None)
            lifetime = token_lifetime or recipient.token_lifetime or self._token_lifetime
            lifetime = min(lifetime, LONGEST_TOKEN)  # recipients of earlier versions may have more
            holder = (recipient.id, recipient.name)
            return await self._credentials.issue(connection, holder, kind, lifetime, issued_for)

    async def revoke(self, name: str) -> int:
        """Revoke all access of a recipient, its credentials, and its unused activation links.

        Returns:
            The number of credentials that were valid.

        Raises:
            NotFound: The recipient does not exist.
        """
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            await set_revoked(connection, recipient.id, self._now())
            await withdraw_links(connection, recipient.id, self._now())
            return await self._credentials.revoke(connection, recipient.id)

    async def revoke_credential(self, name: str, credential_id: str) -> None:
        """Revoke one token or OAuth client of a recipient. Its other access does not change.

        Raises:
            NotFound: The recipient does not exist, or has no such credential that is valid.
        """
        async with self._store.write(["credentials"]) as connection:
            recipient = await existing_recipient(connection, name)
            if not await self._credentials.revoke_one(connection, recipient.id, credential_id):
                raise NotFound(f"'{recipient.name}' has no valid credential '{credential_id}'")

    async def restore(self, name: str) -> None:
        """Restore access of a revoked recipient with tokens of other issuers, such as OIDC.

        Credentials that the gateway issued stay revoked. `rotate` issues new ones.

        Raises:
            NotFound: The recipient does not exist.
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
