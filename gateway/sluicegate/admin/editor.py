"""Reads and changes shares, recipients and grants for administrators, in one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sluicegate._util.clock import epoch_ms
from sluicegate.access.shares_file.apply import (
    compare_with_stored,
    ending_access,
    write_changes,
)
from sluicegate.access.shares_file.diff import Change as EntryChange
from sluicegate.access.shares_file.diff import Difference, compare, describe, render
from sluicegate.access.shares_file.entries import Entries, declared_entries, stored_entries
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.read import SharesFile, check_shares_file
from sluicegate.admin.call import refused_input
from sluicegate.admin.conditions import NO_CONDITIONS, Conditions, entity_tag
from sluicegate.admin.identity import Admin
from sluicegate.admin.permissions import (
    check_changes,
    check_grants,
    check_names,
    visible_entries,
)
from sluicegate.admin.places import Content, GrantPlace, RecipientPlace, SharedResource
from sluicegate.api.errors import NotFound
from sluicegate.audit.trail import note_changes
from sluicegate.config.yaml import JsonDocument, nearest
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key

Change = Callable[[Content | None], Content | None]


@dataclass(frozen=True, slots=True)
class Edited:
    """The outcome of a change.

    Attributes:
        created: Whether the resource did not exist before.
        content: The resource after the change (see `SharedResource.read`); `None` if it was deleted.
        difference: What was changed.
    """

    created: bool
    content: Content | None
    difference: Difference


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes that an administrator confirms before they are made.

    Attributes:
        tag: Identifies the changes with all values.
        applied: Whether they were made.
    """

    difference: Difference
    tag: str
    applied: bool


class Editor:
    """Shares, recipients and grants in the form of a shares file.

    Args:
        store: The open database.
        catalogs: Names of the configured catalogs.
        now: Epoch milliseconds.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(
        self, store: Store, catalogs: Collection[str], *, now: Callable[[], int] = epoch_ms
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._now = now

    async def stored(self, admin: Admin) -> StoredShares:
        """Read everything that an administrator can see."""
        async with self._store.read() as connection:
            return StoredShares(visible_entries(admin, await stored_entries(connection)))

    async def read(self, admin: Admin, place: SharedResource) -> Content:
        """Read a resource.

        Raises:
            PermissionDenied: The administrator does not manage it.
            NotFound: It does not exist. The message suggests a name to administrators of all shares.
        """
        stored = await self.stored(admin)
        place.check_admin(admin)
        content = place.read(stored)
        if content is None:
            error = place.error_if_missing(admin)
            if admin.shares is not None:
                raise error
            raise NotFound(f"{error.message}{nearest(place.names[-1], place.siblings(stored))}")
        return content

    async def read_grant(self, admin: Admin, place: GrantPlace) -> Content:
        """Read a grant.

        Raises:
            PermissionDenied: The administrator does not manage the share.
            NotFound: It does not exist.
        """
        admin.check_share(place.share)
        async with self._store.read() as connection:
            visible = visible_entries(admin, await stored_entries(connection))
        StoredShares(visible).find(place.share)
        found = place.read(visible)
        if found is None:
            raise place.error_if_missing()
        return found

    async def change(
        self, admin: Admin, place: SharedResource, conditions: Conditions, change: Change
    ) -> Edited:
        """Change a resource, unless a precondition fails.

        Args:
            admin: The administrator.
            place: The resource.
            conditions: The preconditions, which are checked in the same transaction.
            change: Receives the content (see `SharedResource.read`) and returns new content, or `None`
                to delete the resource.

        Raises:
            PermissionDenied: The administrator does not manage all that would change.
            PreconditionFailed: A precondition fails.
            InvalidRequest: The new content is invalid.
            NotFound: A resource around it does not exist.
        """
        edited = await self._change(admin, place, conditions, change)
        note_changes(_lines(edited.difference))
        return edited

    async def _change(
        self, admin: Admin, place: SharedResource, conditions: Conditions, change: Change
    ) -> Edited:
        async with self._store.write() as connection:
            place.check_admin(admin)
            entries = await stored_entries(connection)
            visible = visible_entries(admin, entries)
            stored = StoredShares(visible)
            before = place.read(stored)
            conditions.check_write(before)
            content = change(before)
            document = JsonDocument(place.write(stored, content))
            with refused_input():
                file = check_shares_file(document, self._catalogs)
                declared = declared_entries(file.declaration)
                check_grants(admin, visible, declared)
                compare_with_stored(entries, file, visible=visible)  # finds unknown shares
            removed = place.replaces(visible, removed=content is None)
            kept = {key: entry for key, entry in visible.items() if key not in removed}
            after = kept | declared
            difference = compare(visible, after, prune=True)
            check_changes(admin, visible, after, [each.entry for each in difference.changes])
            check_names(admin, entries, visible, declared)
            difference = await self._with_ending(connection, entries, visible, difference)
            if not difference.changes:
                await connection.rollback()
                return Edited(False, before, difference)
            await write_changes(connection, entries, difference, self._now())
            changed = place.read(StoredShares(visible_entries(admin, await stored_entries(connection))))
            return Edited(before is None, changed, difference)

    async def delete(self, admin: Admin, place: SharedResource, conditions: Conditions) -> None:
        """Delete a resource with all of its content; see `change`.

        Raises:
            NotFound: It does not exist.
        """

        def delete(content: Content | None) -> None:
            if content is None:
                raise place.error_if_missing(admin)

        await self.change(admin, place, conditions, delete)

    async def regrant(
        self,
        admin: Admin,
        place: GrantPlace,
        conditions: Conditions,
        *,
        granted: bool,
        of_recipient: Conditions = NO_CONDITIONS,
    ) -> Content:
        """Grant a share to a recipient, or end the grant, and return the grant.

        Args:
            admin: The administrator.
            place: The grant.
            conditions: The preconditions of the grant.
            granted: Whether to grant the share.
            of_recipient: Preconditions of the recipient, which the administrator manages.

        Raises:
            PermissionDenied: The administrator does not manage the share, or does not know of the
                recipient.
            PreconditionFailed: A precondition fails.
            InvalidRequest: There is no such share.
            NotFound: There is no such recipient, or no grant to end.
        """
        admin.check_share(place.share)
        async with self._store.write() as connection:
            entries = await stored_entries(connection)
            visible = visible_entries(admin, entries)
            before = place.read(visible)
            conditions.check_write(before)
            of_recipient.check_write(RecipientPlace(place.recipient).read(StoredShares(visible)))
            entry = place.granted(admin, visible) if granted else place.ended(admin, visible)
            if granted and before is not None:
                await connection.rollback()
                return before
            change = EntryChange(None, entry) if granted else EntryChange(entry, None)
            difference = await self._with_ending(
                connection, entries, visible, Difference((change,), ())
            )
            await write_changes(connection, entries, difference, self._now())
        note_changes(_lines(difference))
        return dict(zip(("recipient", "share"), entry.names, strict=True))

    def check_file(self, data: Any) -> SharesFile:
        """Check a shares file.

        Raises:
            InvalidRequest: It is invalid. The message has one line for each problem.
        """
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
        """Apply a shares file completely, or not at all.

        Args:
            admin: The administrator.
            file: The shares file.
            prune: Remove the shares and recipients that the file does not contain.
            dry_run: Return the difference without applying it.
            confirm: Checks the difference in the transaction that makes the changes.

        Raises:
            PermissionDenied: The administrator does not manage all that would change.
            InvalidRequest: The shares file is invalid.
        """
        if prune:
            admin.check_all_shares()
        if dry_run:
            async with self._store.read() as connection:
                return (await self._compare(connection, admin, file, prune=prune))[1]
        async with self._store.write() as connection:
            entries, difference = await self._compare(connection, admin, file, prune=prune)
            confirm(difference)
            if difference.changes:
                await write_changes(connection, entries, difference, self._now())
            else:
                await connection.rollback()
        note_changes(_lines(difference))
        return difference

    async def merge(
        self, admin: Admin, make: Callable[[StoredShares], Content], *, confirmed: str | None = None
    ) -> Proposal:
        """Propose changes of what is stored, or make them if they were confirmed.

        Args:
            admin: The administrator.
            make: Returns a shares file, made from what is stored.
            confirmed: The `tag` of the proposal to apply. Without it, nothing is changed.

        Returns:
            The changes. They are not applied if they are no longer those of `confirmed`.

        Raises:
            PermissionDenied: The administrator does not manage all that would change.
            InvalidRequest: The shares file is invalid.
        """
        writes = confirmed is not None
        async with self._store.write() if writes else self._store.read() as connection:
            entries = await stored_entries(connection)
            visible = visible_entries(admin, entries)
            with refused_input():
                file = check_shares_file(JsonDocument(make(StoredShares(visible))), self._catalogs)
                declared = declared_entries(file.declaration)
                check_grants(admin, visible, declared)
                compared = compare_with_stored(entries, file, visible=visible)
            difference = Difference(compared.changes, ())  # nothing else could be removed
            touched = [change.entry for change in difference.changes]
            check_changes(admin, visible, visible | declared, touched)
            check_names(admin, entries, visible, declared)
            difference = await self._with_ending(connection, entries, visible, difference)
            tag = entity_tag(list(describe(difference)))
            applied = writes and tag == confirmed and bool(difference.changes)
            if applied:
                await write_changes(connection, entries, difference, self._now())
            elif writes:
                await connection.rollback()
        if applied:
            note_changes(_lines(difference))
        return Proposal(difference, tag, applied)

    async def _compare(
        self, connection: AsyncConnection, admin: Admin, file: SharesFile, *, prune: bool
    ) -> tuple[Entries, Difference]:
        declared = declared_entries(file.declaration)
        entries = await stored_entries(connection)
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
        return entries, await self._with_ending(connection, entries, visible, difference)

    async def _with_ending(
        self, connection: AsyncConnection, entries: Entries, visible: Entries, difference: Difference
    ) -> Difference:
        """The difference with the access that ends, of recipients that the administrator can see."""
        found = await ending_access(connection, entries, difference, self._now())
        known = [str(each) for each in found if ("recipient", (name_key(each.recipient),)) in visible]
        return replace(difference, ending=tuple(known))


def _lines(difference: Difference) -> Iterator[str]:
    """The changes that were made, as lines of the audit log."""
    return render(replace(difference, untouched=())) if difference.changes else iter(())
