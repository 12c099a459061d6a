"""Reads entries from the database: all of them, or the part that a change depends on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, FromClause, Row, Select, Table, and_, or_, select, true

from sluicegate.access.shares_file.entries import COLUMNS, Entries, Entry, Kind, source_values
from sluicegate.access.shares_file.models import CatalogSourceEntry, SchemaSourceEntry
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.statements.similar_names import similar_names
from sluicegate.database.tables import (
    grants,
    recipients,
    schemas,
    shared_assets,
    shared_tables,
    shares,
)

Part: TypeAlias = Mapping[Table, ColumnElement[bool]]
"""The rows to read of each table. Rows of a child require those of its parents, except for grants."""

# Rows that are decoded at once, and values in one statement. Between them, the event loop is free.
_BATCH = 500
# Rows of assets contain their kind.
_STORED: tuple[tuple[Kind | None, Table, str | None], ...] = (
    ("share", shares, None),
    ("schema", schemas, "share_id"),
    ("table", shared_tables, "schema_id"),
    (None, shared_assets, "schema_id"),
    ("recipient", recipients, None),
)
_SOURCES: dict[Kind, type[CatalogSourceEntry] | type[SchemaSourceEntry]] = {
    "share": CatalogSourceEntry,
    "schema": SchemaSourceEntry,
}
ALL: Part = {table: true() for table in (*(each for _, each, _ in _STORED), grants)}
"""Everything."""


def share_part(*names: str) -> Part:
    """A share, one of its schemas, or a table, with its content and what is around it."""
    keys = [name_key(name) for name in names]
    part: dict[Table, ColumnElement[bool]] = {shares: shares.c.key == keys[0]}
    inside = schemas.c.share_id.in_(select(shares.c.id).where(part[shares]))
    part[schemas] = and_(inside, schemas.c.key == keys[1]) if len(keys) > 1 else inside
    of_schemas = select(schemas.c.id).where(part[schemas])
    table = shared_tables.c.schema_id.in_(of_schemas)
    if len(keys) > 2:  # other assets of its schema do not matter to a table
        return part | {shared_tables: and_(table, shared_tables.c.key == keys[2])}
    return part | {shared_tables: table, shared_assets: shared_assets.c.schema_id.in_(of_schemas)}


def share_rows(names: Collection[str]) -> Part:
    """Shares without their content."""
    return {shares: shares.c.key.in_({name_key(name) for name in names})}


def grants_of_share(name: str) -> Part:
    """The grants of a share, without their recipients."""
    share = select(shares.c.id).where(shares.c.key == name_key(name))
    return {grants: grants.c.share_id.in_(share)}


def recipient_part(names: Collection[str]) -> Part:
    """Recipients with all of their grants, and the shares of these without their content."""
    mine = recipients.c.key.in_({name_key(name) for name in names})
    granted = grants.c.recipient_id.in_(select(recipients.c.id).where(mine))
    return {
        recipients: mine,
        grants: granted,
        shares: shares.c.id.in_(select(grants.c.share_id).where(granted)),
    }


def readers_part(names: Collection[str]) -> Part:
    """The recipients that are granted some shares, with all of their grants."""
    granted = select(shares.c.id).where(share_rows(names)[shares])
    mine = select(grants.c.recipient_id).where(grants.c.share_id.in_(granted))
    return {recipients: recipients.c.id.in_(mine), grants: grants.c.recipient_id.in_(mine)}


def joined(*parts: Part) -> Part:
    """What is in any of the parts."""
    return {
        table: or_(*(part[table] for part in parts if table in part))
        for table in {table: None for part in parts for table in part}
    }


async def stored_entries(connection: AsyncConnection, part: Part = ALL) -> Entries:
    """The entries in a part of the database."""
    parents: dict[str, tuple[str, ...]] = {}
    entries: list[Entry] = []
    for kind, table, parent in _STORED:
        if table in part:
            async for row in _rows(connection, select(table).where(part[table])):
                around = parents[getattr(row, parent)] if parent else ()
                parents[row.id] = (*around, row.name)
                entries.append(_stored(kind or row.kind, parents[row.id], row))
    if grants in part:
        granted = grants.join(recipients).join(shares)
        query = select(recipients.c.name, shares.c.name).select_from(granted).where(part[grants])
        entries += [Entry("grant", tuple(row), {}) async for row in _rows(connection, query)]
    return {entry.key: entry for entry in entries}


async def stored_shares(
    connection: AsyncConnection, names: Collection[str], managed: ColumnElement[bool]
) -> Entries:
    """The shares of some names, and if some are missing, those that messages can suggest instead."""
    found: Entries = {}
    wanted = list(names)
    for start in range(0, len(wanted), _BATCH):
        found |= await stored_entries(connection, share_rows(wanted[start : start + _BATCH]))
    missing = [name for name in wanted if ("share", (name_key(name),)) not in found]
    if missing:
        similar = await similar_names(connection, shares, missing[0], managed)
        found |= {entry.key: entry for entry in (Entry("share", (name,), {}) for name in similar)}
    return found


async def holders_of(connection: AsyncConnection, ids: Collection[str]) -> Entries:
    """The entries that have some ids, in any part of the database."""
    found: Entries = {}
    wanted = list(ids)
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        for kind, table, source, names in _WITH_NAMES:
            columns = [name.label(f"name{number}") for number, name in enumerate(names)]
            query = select(*columns, table.c.id).select_from(source).where(table.c.id.in_(batch))
            if kind is None:
                query = query.add_columns(table.c.kind)
            for row in await connection.execute(query):
                entry = Entry(kind or row.kind, tuple(row[: len(names)]), {}, row.id)
                found[entry.key] = entry
    return found


_IN_SHARES = schemas.join(shares)


def _in_schemas(table: Table) -> tuple[FromClause, tuple[ColumnElement[str], ...]]:
    return table.join(_IN_SHARES), (shares.c.name, schemas.c.name, table.c.name)


_WITH_NAMES: tuple[tuple[Kind | None, Table, FromClause, tuple[ColumnElement[str], ...]], ...] = (
    ("share", shares, shares, (shares.c.name,)),
    ("schema", schemas, _IN_SHARES, (shares.c.name, schemas.c.name)),
    ("table", shared_tables, *_in_schemas(shared_tables)),
    (None, shared_assets, *_in_schemas(shared_assets)),
    ("recipient", recipients, recipients, (recipients.c.name,)),
)


async def _rows(connection: AsyncConnection, query: Select[Any]) -> AsyncIterator[Row[Any]]:
    """The rows of a query. Between batches of them, which are then decoded, other tasks run."""
    for number, batch in enumerate((await connection.execute(query)).partitions(_BATCH)):
        if number:
            await asyncio.sleep(0)
        for row in batch:
            yield row


def _stored(kind: Kind, names: tuple[str, ...], row: Row[Any]) -> Entry:
    values = {column: getattr(row, column) for column in COLUMNS[kind]}
    if "tags" in values:
        values["tags"] = values["tags"] or {}  # older rows have none
    if values.get("source") is not None:
        # Older rows don't contain options that were added later.
        values["source"] = source_values(_SOURCES[kind].model_validate(values["source"]))
    return Entry(kind, names, values, row.id)
