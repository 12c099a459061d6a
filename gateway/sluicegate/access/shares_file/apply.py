"""Applies a shares file to the database in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.issuers import EndingAccess, end_access, find_ending
from sluicegate.access.shares_file.diff import Difference, compare
from sluicegate.access.shares_file.entries import Entries, Kind, declared_entries
from sluicegate.access.shares_file.read import SharesFile
from sluicegate.access.shares_file.stored import stored_entries
from sluicegate.access.shares_file.write import EntryWriter
from sluicegate.api.errors import ConfigurationError
from sluicegate.config.yaml import nearest
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.statements.revisions import RevisionKind

log = logging.getLogger(__name__)


_KINDS: Mapping[Kind, RevisionKind] = {
    "share": "shares",
    "schema": "shares",
    "table": "tables",
    "volume": "tables",
    "model": "tables",
    "skill": "tables",
    "recipient": "recipients",
    "grant": "grants",
}
_REMOVED_WITH: Mapping[RevisionKind, tuple[RevisionKind, ...]] = {
    "shares": ("tables", "grants"),
    "tables": (),
    "recipients": ("grants",),
    "grants": (),
}


@dataclass(frozen=True, slots=True)
class Holders:
    """Stored entries with ids, and those of them that messages can name."""

    stored: Entries
    visible: Entries


async def apply_shares_file(
    store: Store,
    file: SharesFile,
    *,
    prune: bool = False,
    dry_run: bool = False,
    expected: Difference | None = None,
    now: Callable[[], int] = epoch_ms,
    also: Callable[[AsyncConnection], Awaitable[object]] | None = None,
) -> Difference:
    """Apply a shares file completely, or not at all.

    Returns:
        The changes that were made, or that would be made.
    """
    if dry_run:
        async with store.read() as connection:
            return (await _compare(connection, file, now(), prune=prune))[1]
    async with store.write() as connection:
        stored, difference = await _compare(connection, file, now(), prune=prune)
        if expected is not None and difference.changes != expected.changes:
            raise ConfigurationError(
                "the database has changed since the differences were shown; nothing was applied: run "
                "the command again"
            )
        if difference.changes:
            await write_changes(connection, stored, difference, now())
        if also is not None:
            await also(connection)
        elif not difference.changes:
            await connection.rollback()
        return difference


def compare_with_stored(
    stored: Entries,
    file: SharesFile,
    *,
    prune: bool = False,
    visible: Entries | None = None,
    holders: Holders | None = None,
) -> Difference:
    """The changes that a shares file makes."""
    known = stored if visible is None else visible
    declared = declared_entries(file.declaration)
    problems = list(_unknown_shares(file, declared if prune else {**known, **declared}))
    difference = compare(known, declared, prune=prune)
    problems += _taken_ids(file, holders or Holders(stored, known), difference)
    if problems:
        raise ConfigurationError("\n".join(problems))
    return difference


async def write_changes(
    connection: AsyncConnection, stored: Entries, difference: Difference, now: int
) -> None:
    """Make the changes of a difference, and end the access that `ending_access` finds."""
    ending = await ending_access(connection, stored, difference, now)
    await EntryWriter(connection, stored, now).write(difference.changes)
    await end_access(connection, ending, now)
    for each in ending:
        log.warning("%s", each)


def changed_kinds(difference: Difference, *, ends_access: bool) -> set[RevisionKind]:
    """The kinds of rows that `write_changes` changes."""
    kinds: set[RevisionKind] = {"credentials"} if ends_access else set()
    for change in difference.changes:
        kind = _KINDS[change.entry.kind]
        # What a removed entry contains is removed, too, and so are its grants.
        kinds |= {kind, *(_REMOVED_WITH[kind] if change.after is None else ())}
    return kinds


async def ending_access(
    connection: AsyncConnection, stored: Entries, difference: Difference, now: int
) -> list[EndingAccess]:
    """The credentials and links that end because their recipients are granted other shares."""
    changed = [each for each in difference.changes if each.entry.kind == "grant"]
    added = [each.entry.key[1] for each in changed if each.before is None]
    if not added:
        return []
    removed = {each.entry.key[1] for each in changed if each.after is None}
    before = [names for kind, names in stored if kind == "grant" and names not in removed]
    granted: dict[str, set[str]] = {recipient: set() for recipient, _ in added}
    for recipient, share in (*before, *added):
        if recipient in granted:
            granted[recipient].add(share)
    return await find_ending(connection, granted, now)


async def _compare(
    connection: AsyncConnection, file: SharesFile, now: int, *, prune: bool
) -> tuple[Entries, Difference]:
    stored = await stored_entries(connection)
    difference = compare_with_stored(stored, file, prune=prune)
    ending = await ending_access(connection, stored, difference, now)
    return stored, replace(difference, ending=tuple(map(str, ending)))


def _unknown_shares(file: SharesFile, known: Entries) -> Iterator[str]:
    names = sorted(entry.names[0] for entry in known.values() if entry.kind == "share")
    for recipient, entry in file.declaration.recipients.items():
        for index, share in enumerate(entry.shares):
            if ("share", (name_key(share),)) not in known:
                message = f"there is no share '{share}'{nearest(share, names)}"
                yield file.document.problem(("recipients", recipient, "shares", index), message)


def _taken_ids(file: SharesFile, holders: Holders, difference: Difference) -> Iterator[str]:
    """Report added tables whose id is that of another table which stays, or is added too."""
    stored, visible = holders.stored, holders.visible
    gone = {change.entry.key for change in difference.changes if change.after is None}
    taken = {entry.id: entry for key, entry in stored.items() if key not in gone and entry.id}
    for change in difference.changes:
        if change.before is None and (added := change.entry).id is not None:
            other = taken.setdefault(added.id, added)
            if other is not added:
                share, schema, table = added.names
                place = ("shares", share, "schemas", schema, "tables", table, "id")
                is_known = other.key in visible or stored.get(other.key) is not other
                name = f"the {other.kind} {'.'.join(other.names)}" if is_known else "another table"
                message = f"{name} has this id already"
                yield file.document.problem(place, message)
