"""Reads and changes shares, recipients and grants for administrators, in one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sluicegate._util.clock import epoch_ms
from sluicegate.access.shares_file.apply import compare_with_stored, write_changes
from sluicegate.access.shares_file.diff import Difference, compare, describe, render
from sluicegate.access.shares_file.entries import (
    Entries,
    Entry,
    declared_entries,
    stored_entries,
)
from sluicegate.access.shares_file.export import StoredShares
from sluicegate.access.shares_file.read import SharesFile, check_shares_file
from sluicegate.admin.call import refused_input
from sluicegate.admin.conditions import Conditions, entity_tag
from sluicegate.admin.identity import Admin
from sluicegate.admin.places import Content, SharedResource
from sluicegate.api.errors import InvalidRequest, NotFound
from sluicegate.audit.trail import note_changes
from sluicegate.config.yaml import JsonDocument, nearest
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection

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

    async def stored(self) -> StoredShares:
        """Read everything."""
        async with self._store.read() as connection:
            return StoredShares(await stored_entries(connection))

    async def read(self, admin: Admin, place: SharedResource) -> Content:
        """Read a resource.

        Raises:
            PermissionDenied: The administrator does not manage it.
            NotFound: It does not exist. The message suggests a name to administrators of all shares.
        """
        stored = await self.stored()
        place.check_admin(admin, stored)
        content = place.read(stored)
        if content is None:
            known = place.siblings(stored) if admin.shares is None else ()
            raise NotFound(f"{place.missing}{nearest(place.names[-1], known)}")
        return content

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
            entries = await stored_entries(connection)
            stored = StoredShares(entries)
            place.check_admin(admin, stored)
            before = place.read(stored)
            conditions.check_write(before)
            content = change(before)
            document = JsonDocument(place.write(stored, content))
            with refused_input():
                file = check_shares_file(document, self._catalogs)
                _check_grants(admin, entries, declared_entries(file.declaration))
                await compare_with_stored(connection, file)  # finds unknown shares
            removed = place.replaces(entries, removed=content is None)
            kept = {key: entry for key, entry in entries.items() if key not in removed}
            after = kept | declared_entries(file.declaration)
            difference = compare(entries, after, prune=True)
            check_changes(admin, entries, after, [each.entry for each in difference.changes])
            if not difference.changes:
                await connection.rollback()
                return Edited(False, before, difference)
            await write_changes(connection, entries, difference, self._now())
            changed = place.read(StoredShares(await stored_entries(connection)))
            return Edited(before is None, changed, difference)

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
            with refused_input():
                file = check_shares_file(JsonDocument(make(StoredShares(entries))), self._catalogs)
                declared = declared_entries(file.declaration)
                _check_grants(admin, entries, declared)
                _, compared = await compare_with_stored(connection, file)
            difference = Difference(compared.changes, ())  # nothing else could be removed
            touched = [change.entry for change in difference.changes]
            check_changes(admin, entries, entries | declared, touched)
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
        _check_grants(admin, await stored_entries(connection), declared)
        with refused_input():
            entries, difference = await compare_with_stored(connection, file, prune=prune)
        gone = {change.entry.key for change in difference.changes if change.after is None}
        after = {key: entry for key, entry in entries.items() if key not in gone}
        # Entries that stay the same are checked, too: the response must not confirm their content.
        touched = [*(each.entry for each in difference.changes), *declared.values()]
        check_changes(admin, entries, after | declared, touched)
        return entries, difference


def _lines(difference: Difference) -> Iterator[str]:
    """The changes that were made, as lines of the audit log."""
    return render(Difference(difference.changes, ())) if difference.changes else iter(())


def check_changes(admin: Admin, before: Entries, after: Entries, touched: Iterable[Entry]) -> None:
    """Check that an administrator manages all entries that a change touches.

    Grants of its shares can be changed for every recipient that has grants already. Other changes of a
    recipient require that it manages the recipient before and after them.

    Raises:
        PermissionDenied: It does not.
    """
    if admin.shares is None:
        return
    granted_before, granted_after = _granted(before), _granted(after)
    for entry in touched:
        kind, names = entry.kind, entry.names
        if kind not in ("recipient", "grant"):
            admin.check_share(names[0])
            continue
        key = entry.key[1][0]
        had, has = granted_before.get(key, []), granted_after.get(key, [])
        exists = ("recipient", (key,)) in before
        if kind == "grant":
            admin.check_share(names[1])
            if exists and not had:
                # With this grant, the administrator could issue tokens of a recipient of others.
                admin.check_recipient(names[0], ())
            continue
        stays = ("recipient", (key,)) in after
        for shares in ([had] if exists else []) + ([has] if stays else []):
            admin.check_recipient(names[0], shares)


def _check_grants(admin: Admin, before: Entries, declared: Entries) -> None:
    """Check new grants first, because later messages suggest the names of all shares."""
    if admin.shares is None:
        return
    for key, entry in declared.items():
        if entry.kind == "grant" and key not in before:
            admin.check_share(entry.names[1])
            share = ("share", (key[1][1],))
            if share not in before and share not in declared:
                raise InvalidRequest(f"there is no share '{entry.names[1]}'")


def _granted(entries: Entries) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for (kind, names), entry in entries.items():
        if kind == "grant":
            found.setdefault(names[0], []).append(entry.names[1])
    return found
