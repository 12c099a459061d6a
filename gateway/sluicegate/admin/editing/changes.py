"""Computes the changes that administrators request from the entries that they depend on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

import anyio.to_thread

from sluicegate.access.shares_file.apply import Holders, compare_with_stored
from sluicegate.access.shares_file.diff import Difference, compare
from sluicegate.access.shares_file.entries import Entries, declared_entries
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.read import SharesFile, check_shares_file
from sluicegate.access.shares_file.stored import holders_of, stored_shares
from sluicegate.admin.call import refused_input
from sluicegate.admin.identity import Admin
from sluicegate.admin.permissions import (
    check_changes,
    check_grants,
    check_names,
    visible_entries,
)
from sluicegate.admin.services.content_queries import managed
from sluicegate.admin.shares_file_parts import Content, SharedResource
from sluicegate.config.yaml import JsonDocument
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key

T = TypeVar("T")


class PartChange:
    """A change of one resource. Only entries that it depends on are known."""

    def __init__(
        self,
        admin: Admin,
        place: SharedResource,
        catalogs: Collection[str],
        entries: Entries,
        content: Content | None,
    ) -> None:
        self._admin = admin
        self._place = place
        self._catalogs = catalogs
        self._content = content
        self.entries = entries
        self.visible = visible_entries(admin, entries)

    def check_file(self) -> SharesFile:
        """The shares file that declares the resource."""
        document = JsonDocument(self._place.write(StoredShares(self.visible), self._content))
        with refused_input():
            return check_shares_file(document, self._catalogs)

    async def find_references(self, connection: AsyncConnection, file: SharesFile) -> Holders:
        """Read the shares that the file grants, and return the entries with ids that it declares."""
        declared = declared_entries(file.declaration)
        shares = {
            entry.names[1]
            for entry in declared.values()
            if entry.kind == "grant" and ("share", (name_key(entry.names[1]),)) not in self.entries
        }
        if shares:
            self.entries = await stored_shares(connection, shares, managed(self._admin)) | self.entries
            self.visible = visible_entries(self._admin, self.entries)
        ids = {
            entry.id
            for key, entry in declared.items()
            if entry.kind == "table" and entry.id is not None and key not in self.entries
        }
        holders = await holders_of(connection, ids) if ids else {}
        return Holders(holders, visible_entries(self._admin, holders))

    def difference(self, file: SharesFile, holders: Holders) -> Difference:
        """What changes."""
        admin, visible = self._admin, self.visible
        declared = declared_entries(file.declaration)
        with refused_input():
            check_grants(admin, visible, declared)
            compare_with_stored(self.entries, file, visible=visible, holders=holders)
        removed = self._place.replaces(visible, removed=self._content is None)
        kept = {key: entry for key, entry in visible.items() if key not in removed}
        after = kept | declared
        difference = compare(visible, after, prune=True)
        check_changes(admin, visible, after, [each.entry for each in difference.changes])
        check_names(admin, self.entries, visible, declared)
        return difference


def file_changes(
    admin: Admin, file: SharesFile, declared: Entries, entries: Entries, *, prune: bool
) -> tuple[Entries, Difference]:
    """The entries that an administrator can see, and what a shares file changes."""
    visible = visible_entries(admin, entries)
    check_grants(admin, visible, declared)
    with refused_input():
        difference = compare_with_stored(entries, file, prune=prune, visible=visible)
    gone = {change.entry.key for change in difference.changes if change.after is None}
    after = {key: entry for key, entry in visible.items() if key not in gone}
    # Entries that stay the same are checked, too: the response must not confirm their content.
    touched = [*(each.entry for each in difference.changes), *declared.values()]
    check_changes(admin, visible, after | declared, touched)
    check_names(admin, entries, visible, declared)
    return visible, difference


async def in_thread(compute: Callable[[], T]) -> T:
    """Compute something large without blocking the event loop."""
    return await anyio.to_thread.run_sync(compute)


async def at_part(place: SharedResource, compute: Callable[[], T]) -> T:
    """Compute something about a resource, in a thread if that can take long."""
    return await in_thread(compute) if place.is_large else compute()
