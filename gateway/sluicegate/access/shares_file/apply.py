"""Applies a shares file to the database in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Table, bindparam, delete, insert, tuple_, update

from sluicegate._util.clock import epoch_ms
from sluicegate.access.recipients.issuers import EndingAccess, end_access, find_ending
from sluicegate.access.shares_file.diff import ORDER, Change, Difference, compare
from sluicegate.access.shares_file.entries import (
    Entries,
    Entry,
    EntryKey,
    Kind,
    column_values,
    declared_entries,
)
from sluicegate.access.shares_file.read import SharesFile
from sluicegate.access.shares_file.stored import stored_entries
from sluicegate.api.assets.models import ASSET_KINDS
from sluicegate.api.errors import ConfigurationError
from sluicegate.config.yaml import nearest
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.statements.revisions import RevisionKind
from sluicegate.database.tables import (
    grants,
    recipients,
    schemas,
    shared_assets,
    shared_tables,
    shares,
)

_TABLES: Mapping[str, Table] = {
    "share": shares,
    "schema": schemas,
    "table": shared_tables,
    **dict.fromkeys(ASSET_KINDS, shared_assets),
    "recipient": recipients,
    "grant": grants,
}
# Rows in one statement: between statements, the event loop is free, and SQLite limits their parameters.
_BATCH = 500


class EntryWriter:
    """Writes changes, and tracks the ids of all stored and added entries."""

    def __init__(self, connection: AsyncConnection, stored: Entries, now: int) -> None:
        self._connection = connection
        self._now = now
        self._ids = {key: entry.id for key, entry in stored.items() if entry.id is not None}

    async def write(self, changes: Sequence[Change]) -> None:
        """Make the changes."""
        # Removals come first, children before parents, so that they can't cascade to entries that were
        # just added.
        removed = {change.entry.key for change in changes if change.after is None}
        by_kind: dict[str, list[Change]] = {kind: [] for kind in ORDER}
        for change in changes:
            by_kind[change.entry.kind].append(change)
        for kind in reversed(ORDER):
            gone = [each.entry for each in by_kind[kind] if each.after is None]
            await self._remove(kind, [each for each in gone if not removed & {*_owners(each)}])
        for kind in ORDER:
            kept = [each for each in by_kind[kind] if each.after is not None]
            await self._add(kind, [each.entry for each in kept if each.before is None])
            await self._update(kind, [each.entry for each in kept if each.before is not None])

    async def _add(self, kind: str, entries: Sequence[Entry]) -> None:
        for batch in _batches(entries):
            rows = [self._row(entry) for entry in batch]
            await self._connection.execute(insert(_TABLES[kind]), rows)

    def _row(self, entry: Entry) -> dict[str, Any]:
        if entry.kind == "grant":
            return self._grant_ids(entry)
        key = entry.key
        self._ids[key] = new_id = entry.id or str(uuid4())
        row = {"id": new_id, "key": key[1][-1], "name": entry.names[-1], **column_values(entry)}
        return (
            row | self._parent(key) | ({"created_at": self._now} if entry.kind == "recipient" else {})
        )

    def _parent(self, key: EntryKey) -> dict[str, Any]:
        kind, around = key[0], key[1][:-1]
        if kind == "recipient":
            return {"created_at": self._now}
        if kind == "schema":
            return {"share_id": self._ids["share", around]}
        if kind == "table":
            return {"schema_id": self._ids["schema", around]}
        if kind in ASSET_KINDS:
            return {"schema_id": self._ids["schema", around], "kind": kind}
        return {}

    def _grant_ids(self, entry: Entry) -> dict[str, str]:
        recipient, share = entry.key[1]
        return {
            "recipient_id": self._ids["recipient", (recipient,)],
            "share_id": self._ids["share", (share,)],
        }

    async def _update(self, kind: str, entries: Sequence[Entry]) -> None:
        table = _TABLES[kind]
        for batch in _batches(entries):
            values = [{"name": each.names[-1], **column_values(each)} for each in batch]
            columns = {name: bindparam(name, type_=table.c[name].type) for name in values[0]}
            statement = update(table).where(table.c.id == bindparam("changed_id")).values(columns)
            ids = ({"changed_id": self._ids[each.key]} for each in batch)
            await self._connection.execute(statement, [a | b for a, b in zip(ids, values, strict=True)])

    async def _remove(self, kind: str, entries: Sequence[Entry]) -> None:
        table = _TABLES[kind]
        for batch in _batches(entries):
            if kind == "grant":
                columns = tuple_(grants.c.recipient_id, grants.c.share_id)
                mine = columns.in_([tuple(self._grant_ids(entry).values()) for entry in batch])
            else:
                mine = table.c.id.in_([self._ids[entry.key] for entry in batch])
            await self._connection.execute(delete(table).where(mine))


def _owners(entry: Entry) -> Iterator[EntryKey]:
    """The entries whose removal removes an entry, too."""
    kind, names = entry.key
    if kind == "grant":
        yield "recipient", names[:1]
        yield "share", names[1:]
    elif len(names) > 1:
        yield "share", names[:1]
        if len(names) > 2:
            yield "schema", names[:2]


def _batches(entries: Sequence[Entry]) -> Iterable[Sequence[Entry]]:
    return (entries[start : start + _BATCH] for start in range(0, len(entries), _BATCH))


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
