"""Reads and changes shares, recipients and grants for administrators, in one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sluicegate._util.clock import epoch_ms
from sluicegate.access.shares_file.diff import Change as EntryChange
from sluicegate.access.shares_file.diff import Difference, describe, render
from sluicegate.access.shares_file.entries import Entries, declared_entries
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.read import SharesFile, check_shares_file
from sluicegate.access.shares_file.stored import ALL, Part, stored_entries
from sluicegate.admin.call import refused_input
from sluicegate.admin.conditions import NO_CONDITIONS, Conditions, entity_tag
from sluicegate.admin.editing.changes import PartChange, at_part, file_changes, in_thread
from sluicegate.admin.editing.committing import Committer, Prepared
from sluicegate.admin.editing.grants import GrantPart, grant_content
from sluicegate.admin.identity import Admin
from sluicegate.admin.permissions import visible_entries
from sluicegate.admin.shares_file_parts import Content, RecipientPart, SharedResource
from sluicegate.api.errors import NotFound
from sluicegate.audit.trail import note_changes
from sluicegate.config.yaml import JsonDocument, nearest
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection

Change = Callable[[Content | None], Content | None]


@dataclass(frozen=True, slots=True)
class Edited:
    """The outcome of a change.

    Attributes:
        content: The resource after the change (see `SharedResource.read`); `None` if it was deleted.
    """

    created: bool
    content: Content | None
    difference: Difference


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes that an administrator confirms before they are made."""

    difference: Difference
    tag: str
    applied: bool


class Editor:
    """Shares, recipients and grants in the form of a shares file.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(
        self, store: Store, catalogs: Collection[str], *, now: Callable[[], int] = epoch_ms
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._committer = Committer(store, now)

    async def stored(self, admin: Admin, part: Part = ALL) -> StoredShares:
        """Read what an administrator can see of a part of the database; by default, everything."""
        async with self._store.read() as connection:
            entries = await stored_entries(connection, part)
        return await in_thread(lambda: StoredShares(visible_entries(admin, entries)))

    async def read(self, admin: Admin, place: SharedResource) -> Content:
        """Read a resource."""
        place.check_admin(admin)
        async with self._store.read() as connection:
            content = await _content(connection, admin, place)
            if content is not None:
                return content
            error = place.error_if_missing(admin)
            if admin.shares is not None:
                raise error
            known = await place.siblings(connection)
        raise NotFound(f"{error.message}{nearest(place.names[-1], known)}")

    async def read_grant(self, admin: Admin, place: GrantPart) -> Content:
        """Read a grant."""
        admin.check_share(place.share)
        async with self._store.read() as connection:
            entries = await place.entries(connection, admin)
        visible = visible_entries(admin, entries)
        StoredShares(visible).find(place.share)
        found = place.read(visible)
        if found is None:
            raise place.error_if_missing()
        return found

    async def change(
        self, admin: Admin, place: SharedResource, conditions: Conditions, change: Change
    ) -> Edited:
        """Change a resource, unless a precondition fails."""
        place.check_admin(admin)

        async def prepare(connection: AsyncConnection) -> Prepared:
            entries = await stored_entries(connection, place.part)
            before = await _shown(admin, place, entries)
            conditions.check_write(before)
            content = change(before)
            if content is None:
                entries |= await stored_entries(connection, place.removed_with_it)
            else:
                entries |= await place.suggested(connection, entries)
            changing = PartChange(admin, place, self._catalogs, entries, content)
            file = await at_part(place, changing.check_file)
            holders = await changing.find_references(connection, file)
            difference = await at_part(place, lambda: changing.difference(file, holders))
            return await self._committer.prepared(
                connection, changing.entries, changing.visible, difference, before
            )

        made = await self._committer.commit(
            prepare, lambda connection: _content(connection, admin, place)
        )
        if not made.difference.changes:
            return Edited(False, made.before, made.difference)
        note_changes(_lines(made.difference))
        return Edited(made.before is None, made.content, made.difference)

    async def delete(self, admin: Admin, place: SharedResource, conditions: Conditions) -> None:
        """Delete a resource with all of its content; see `change`."""

        def delete(content: Content | None) -> None:
            if content is None:
                raise place.error_if_missing(admin)

        await self.change(admin, place, conditions, delete)

    async def regrant(
        self,
        admin: Admin,
        place: GrantPart,
        conditions: Conditions,
        *,
        granted: bool,
        of_recipient: Conditions = NO_CONDITIONS,
    ) -> Content:
        """Grant a share to a recipient, or end the grant, and return the grant."""
        admin.check_share(place.share)

        async def prepare(connection: AsyncConnection) -> Prepared:
            entries = await place.entries(connection, admin)
            visible = visible_entries(admin, entries)
            before = place.read(visible)
            conditions.check_write(before)
            of_recipient.check_write(RecipientPart(place.recipient).read(StoredShares(visible)))
            entry = place.granted(admin, visible) if granted else place.ended(admin, visible)
            change = EntryChange(None, entry) if granted else EntryChange(entry, None)
            changes = () if granted and before is not None else (change,)
            difference = Difference(changes, ())
            return await self._committer.prepared(
                connection, entries, visible, difference, before or grant_content(entry)
            )

        made = await self._committer.commit(prepare)
        if made.difference.changes:
            note_changes(_lines(made.difference))
        assert made.before is not None  # noqa: S101 # it is the grant
        return made.before

    def check_file(self, data: Any) -> SharesFile:
        """Check a shares file, which can take long."""
        with refused_input():
            return check_shares_file(JsonDocument(data), self._catalogs)

    async def apply(
        self,
        admin: Admin,
        file: SharesFile,
        *,
        prune: bool,
        dry_run: bool,
        confirm: Callable[[Difference], None] = lambda _: None,
    ) -> Difference:
        """Apply a shares file completely, or not at all."""
        if prune:
            admin.check_all_shares()
        declared = await in_thread(lambda: declared_entries(file.declaration))

        async def prepare(connection: AsyncConnection) -> Prepared:
            entries = await stored_entries(connection)
            visible, difference = await in_thread(
                lambda: file_changes(admin, file, declared, entries, prune=prune)
            )
            prepared = await self._committer.prepared(connection, entries, visible, difference)
            confirm(prepared.difference)
            return prepared

        if dry_run:
            async with self._store.read() as connection:
                return (await prepare(connection)).difference
        difference = (await self._committer.commit(prepare)).difference
        note_changes(_lines(difference))
        return difference

    async def merge(
        self,
        admin: Admin,
        part: Part,
        make: Callable[[StoredShares], Content],
        *,
        confirmed: str | None = None,
    ) -> Proposal:
        """Propose changes of what is stored, or make them if they were confirmed.

        Returns:
            The changes. They are not applied if they are no longer those of `confirmed`.
        """
        found = Proposal(Difference((), ()), "", applied=False)

        async def prepare(connection: AsyncConnection) -> Prepared:
            nonlocal found
            entries = await stored_entries(connection, part)
            visible = visible_entries(admin, entries)
            file = self.check_file(make(StoredShares(visible)))
            declared = declared_entries(file.declaration)
            visible, compared = file_changes(admin, file, declared, entries, prune=False)
            difference = Difference(compared.changes, ())  # nothing else could be removed
            prepared = await self._committer.prepared(connection, entries, visible, difference)
            tag = entity_tag(list(describe(prepared.difference)))
            found = Proposal(prepared.difference, tag, confirmed == tag and bool(difference.changes))
            return prepared if found.applied else replace(prepared, difference=Difference((), ()))

        if confirmed is None:
            async with self._store.read() as connection:
                await prepare(connection)
            return found
        await self._committer.commit(prepare)
        if found.applied:
            note_changes(_lines(found.difference))
        return found


async def _content(connection: AsyncConnection, admin: Admin, place: SharedResource) -> Content | None:
    return await _shown(admin, place, await stored_entries(connection, place.part))


async def _shown(admin: Admin, place: SharedResource, entries: Entries) -> Content | None:
    """The content that an administrator can see of a resource."""
    return await at_part(place, lambda: place.read(StoredShares(visible_entries(admin, entries))))


def _lines(difference: Difference) -> Iterator[str]:
    """The changes that were made, as lines of the audit log."""
    return render(replace(difference, untouched=())) if difference.changes else iter(())
