"""The access of recipients, for the administrators that manage them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, and_

from sluicegate._util.clock import epoch_ms
from sluicegate._util.units import Duration
from sluicegate.access.activation.link import Link, NewLink
from sluicegate.access.activation.links import ActivationLinks
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.details import RecipientDetails, recipient_details
from sluicegate.access.recipients.expiring import expiring
from sluicegate.access.recipients.service import Recipients
from sluicegate.access.recipients.summaries import (
    ALL_RECIPIENTS,
    RecipientSelection,
    RecipientSummary,
    ends,
)
from sluicegate.admin.editor import Editor
from sluicegate.admin.identity import Admin
from sluicegate.admin.services.content_queries import managed_recipients
from sluicegate.admin.shares_file_parts import RecipientPart
from sluicegate.audit.trail import note_changes, note_issued, note_resource
from sluicegate.config.model import TokenLifetime
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.database import Store
from sluicegate.database.names import name_key
from sluicegate.database.tables import CredentialKind, recipients

# Names in one statement: SQLite limits the number of its parameters.
_BATCH = 500


class NewCredential(BaseModel):
    """A credential to issue. Older ones end after the grace period."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deliver: Literal["activation", "profile"] = Field(
        default="activation",
        description="Return the profile, or a link with which the recipient downloads it once.",
    )
    kind: CredentialKind = Field(default="bearer", description="A bearer token or an OAuth client.")
    grace: Duration | None = Field(
        default=None, ge=0, description="How long older credentials remain valid, such as 24h."
    )
    token_lifetime: TokenLifetime | None = Field(
        default=None, description="How long the credential is valid, such as 90d; at most 365 days."
    )


class NewRecipient(NewCredential):
    """A recipient to create, with its first credential."""

    name: str = Field(description="A name that follows the rules of share names.")
    comment: str | None = Field(default=None, description="For people.")


@dataclass(frozen=True, slots=True)
class RecipientState:
    """A recipient with its credentials, and its newest activation link."""

    details: RecipientDetails
    link: Link | None


class RecipientAccess:
    """Reads and changes the access of recipients.

    Every method raises `PermissionDenied` if the administrator does not manage the recipient,
    `NotFound` if it does not exist, and `Unavailable` if the database does not respond.
    """

    def __init__(self, editor: Editor, store: Store, settings: RecipientSettings) -> None:
        self._editor = editor
        self._store = store
        self._links = ActivationLinks(store, settings)
        self._recipients = Recipients(
            store, token_lifetime=settings.token_lifetime, rotation_grace=settings.rotation_grace
        )

    async def summaries(
        self, admin: Admin, selection: RecipientSelection = ALL_RECIPIENTS
    ) -> list[RecipientSummary]:
        """The recipients that an administrator manages; by default all, sorted by casefolded name."""
        return await self._recipients.list(_managed(admin, selection))

    async def ending(self, admin: Admin, until: int) -> list[RecipientSummary]:
        """Those whose last valid credential ends until a time, the first to end first."""
        found = await self.summaries(admin, RecipientSelection(ends(epoch_ms(), until)))
        return expiring(found, until)

    async def names(self, admin: Admin, selection: RecipientSelection) -> Sequence[str]:
        """The names of recipients that an administrator manages, sorted."""
        return await self._recipients.names(_managed(admin, selection))

    async def managed_among(self, admin: Admin, names: Collection[str]) -> dict[str, str]:
        """Those of some recipients that an administrator manages: names by casefolded names."""
        found: dict[str, str] = {}
        keys = sorted({name_key(name) for name in names})
        for start in range(0, len(keys), _BATCH):
            wanted = recipients.c.key.in_(keys[start : start + _BATCH])
            known = await self.names(admin, RecipientSelection(wanted))
            found |= {name_key(name): name for name in known}
        return found

    async def count(self, admin: Admin, *wheres: ColumnElement[bool]) -> list[int]:
        """The numbers of recipients that an administrator manages and that fulfill conditions."""
        mine = managed_recipients(admin)
        return await self._recipients.count(*(and_(mine, where) for where in wheres))

    async def state(self, admin: Admin, recipient: str) -> RecipientState:
        """A recipient with its credentials, without secrets."""
        name = await self.managed(admin, recipient)
        async with self._store.read() as connection:
            details = await recipient_details(connection, name, epoch_ms())
        admin.check_recipient(name, details.shares)  # which may have changed
        return RecipientState(details, await self._links.latest(name))

    async def create(self, wanted: NewRecipient) -> NewLink | IssuedCredential:
        """Create a recipient without grants, with a credential or a link with which it gets one."""
        service = self._links if wanted.deliver == "activation" else self._recipients
        made = await service.create(
            wanted.name,
            kind=wanted.kind,
            comment=wanted.comment,
            token_lifetime=wanted.token_lifetime,
        )
        note_resource(made.recipient)
        note_changes([f"+ recipient {made.recipient}", _note_issued(made)])
        return made

    async def issue(
        self, admin: Admin, recipient: str, wanted: NewCredential
    ) -> NewLink | IssuedCredential:
        """Issue a credential, or a link with which the recipient gets it."""
        name = await self.managed(admin, recipient)
        service = self._links if wanted.deliver == "activation" else self._recipients
        made = await service.rotate(
            name,
            kind=wanted.kind,
            grace=wanted.grace,
            token_lifetime=wanted.token_lifetime,
            issued_for=admin.shares,
        )
        issued = _note_issued(made)
        note_changes([issued, f"~ older credentials of recipient {name} end"])
        return made

    async def withdraw_link(self, admin: Admin, recipient: str) -> None:
        """Withdraw the unused activation links of a recipient."""
        name = await self.managed(admin, recipient)
        await self._links.withdraw(name)
        note_changes([f"- unused activation links of recipient {name}"])

    async def revoke_credential(self, admin: Admin, recipient: str, credential: str) -> None:
        """Revoke one token or OAuth client; `NotFound` if it is none of the valid ones."""
        name = await self.managed(admin, recipient)
        await self._recipients.revoke_credential(name, credential)
        note_changes([f"- credential {credential} of recipient {name}"])

    async def revoke(self, admin: Admin, recipient: str) -> int:
        """Revoke all access, and return the number of credentials that were valid."""
        name = await self.managed(admin, recipient)
        ended = await self._recipients.revoke(name)
        note_changes([f"~ recipient {name}: revoked; {ended} credentials ended"])
        return ended

    async def restore(self, admin: Admin, recipient: str) -> None:
        """Restore the access of a revoked recipient with tokens of other issuers."""
        name = await self.managed(admin, recipient)
        await self._recipients.restore(name)
        note_changes([f"~ recipient {name}: restored"])

    async def managed(self, admin: Admin, recipient: str) -> str:
        """The name of the recipient, which the administrator manages."""
        found = await self._editor.read(admin, RecipientPart(recipient))
        return str(found["name"])


def _managed(admin: Admin, selection: RecipientSelection) -> RecipientSelection:
    where = managed_recipients(admin)
    return replace(selection, where=where if selection.where is None else and_(where, selection.where))


def _note_issued(made: NewLink | IssuedCredential) -> str:
    """Contribute what was issued, and return the line of this change."""
    issued = "activation link" if isinstance(made, NewLink) else "profile"
    note_issued(issued, expires_at=made.expires_at)
    return f"+ {issued} of recipient {made.recipient}"
