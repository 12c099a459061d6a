"""The grant of a share to a recipient as a resource."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.access.shares_file.entries import Entries, Entry, EntryKey
from sluicegate.access.shares_file.stored import (
    recipient_part,
    stored_entries,
    stored_shares,
)
from sluicegate.admin.identity import Admin
from sluicegate.admin.services.content_queries import managed
from sluicegate.admin.shares_file_parts import Content, RecipientPart
from sluicegate.api.errors import InvalidRequest, NotFound
from sluicegate.config.yaml import nearest
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key


@dataclass(frozen=True, slots=True)
class GrantPart:
    """The grant of a share to a recipient."""

    recipient: str
    share: str

    @property
    def key(self) -> EntryKey:
        """The key of its entry."""
        return "grant", (name_key(self.recipient), name_key(self.share))

    async def entries(self, connection: AsyncConnection, admin: Admin) -> Entries:
        """What it depends on: both, and all grants of the recipient.

        If there is no such share, there are others of the administrator that messages suggest.
        """
        shares = await stored_shares(connection, [self.share], managed(admin))
        return shares | await stored_entries(connection, recipient_part([self.recipient]))

    def read(self, visible: Entries) -> Content | None:
        """The grant among the entries that an administrator can see, or `None`."""
        found = visible.get(self.key)
        return None if found is None else grant_content(found)

    def granted(self, admin: Admin, visible: Entries) -> Entry:
        """The entry of a new grant.

        A limited administrator can grant shares only to recipients that it knows by their grants.
        """
        share = visible.get(("share", (name_key(self.share),)))
        if share is None:
            known = [entry.names[0] for key, entry in visible.items() if key[0] == "share"]
            hint = nearest(self.share, sorted(known))
            raise InvalidRequest(f"there is no share '{self.share}'{hint}")
        key = name_key(self.recipient)
        recipient = visible.get(("recipient", (key,)))
        if recipient is None and admin.shares is not None:
            of_recipient = (entry for (kind, names), entry in visible.items() if names[0] == key)
            recipient = next((entry for entry in of_recipient if entry.kind == "grant"), None)
        if recipient is None:
            raise RecipientPart(self.recipient).error_if_missing(admin)
        return Entry("grant", (recipient.names[0], share.names[0]), {})

    def ended(self, admin: Admin, visible: Entries) -> Entry:
        """The entry of a grant to end."""
        found = visible.get(self.key)
        if found is not None:
            return found
        if admin.shares is None and ("recipient", self.key[1][:1]) not in visible:
            raise RecipientPart(self.recipient).error_if_missing(admin)
        raise self.error_if_missing()

    def error_if_missing(self) -> NotFound:
        """The error if it does not exist."""
        return NotFound(f"the share '{self.share}' is not granted to '{self.recipient}'")


def grant_content(entry: Entry) -> Content:
    """The content of a grant."""
    return dict(zip(("recipient", "share"), entry.names, strict=True))
