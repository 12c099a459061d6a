"""Writes changes of entries to the database, a statement for many rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from sqlalchemy import Table, bindparam, delete, insert, tuple_, update

from sluicegate.access.shares_file.diff import ORDER, Change
from sluicegate.access.shares_file.entries import Entries, Entry, EntryKey, column_values
from sluicegate.api.assets.models import ASSET_KINDS
from sluicegate.database.async_engine import AsyncConnection
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
