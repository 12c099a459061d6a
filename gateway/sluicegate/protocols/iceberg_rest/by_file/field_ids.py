"""Assigns field ids to columns that have none, and keeps them.

Iceberg identifies columns by ids. Delta tables without column mapping have none. The same column must
have the same id in every version, and a column that was dropped and added again must have another one.
The ids are therefore kept in the database, by the column's parent, name and kind of type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio.to_thread
from sqlalchemy import insert, select, update

from sluicegate._util.lru import LRU
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.tables import iceberg_field_ids as rows
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.tables.column_mapping import is_mapped
from sluicegate.tables.iceberg.shape import IcebergShape, fields_of
from sluicegate.tables.iceberg.snapshot_shape import shape_of
from sluicegate.tables.versions import DescribedVersion

_KEPT = 100_000  # fields of tables at one version, about 300 bytes each
_ABOVE_MAPPED = 1 << 30


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field that got an id."""

    id: int
    parent: int
    name: str
    kind: str
    seen_at: int
    gone_at: int | None = None


@dataclass
class Assignment:
    """The ids of one version."""

    version: int
    known: Sequence[KnownField]
    first: int = 1
    added: list[KnownField] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._used: set[int] = set()
        self._last = max((each.id for each in self.known), default=0)
        self._same: dict[tuple[int, str, str], list[KnownField]] = {}
        for each in self.known:
            if each.gone_at is None or self.version < each.gone_at:
                self._same.setdefault((each.parent, each.name, each.kind), []).append(each)

    def __call__(self, parent: int, name: str, kind: str) -> int:
        """The id of a field, a new one if no known field is the same."""
        if same := self._same.get((parent, name, kind)):
            found = min(same, key=lambda each: (each.gone_at is None, each.gone_at or 0)).id
        else:
            found = self._last = max(self._last + 1, self.first)
            self.added.append(KnownField(found, parent, name, kind, self.version))
        self._used.add(found)
        return found

    @property
    def gone(self) -> list[KnownField]:
        """The fields that this version is the first known one to lack."""
        return [
            replace(each, gone_at=self.version)
            for each in self.known
            if each.id not in self._used
            and each.seen_at < self.version
            and (each.gone_at is None or self.version < each.gone_at)
        ]

    @property
    def last_id(self) -> int:
        """The highest id that the table has assigned."""
        return self._last


class Shapes:
    """Makes shapes with ids that all processes of the gateway share through the database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: LRU[tuple[object, ...], IcebergShape] = LRU(_KEPT, _fields)

    async def of(self, table: OpenTable, version: DescribedVersion) -> IcebergShape:
        """The shape of a table at one version."""
        key = _key(table, version)
        kept = (key, version.version, version.deletion_vectors, _declared(version))
        made = self._made.get(kept)
        if made is None:
            if version.metadata.iceberg is None:
                made = await self._make(key, version)
            else:  # it has all ids itself
                made = await anyio.to_thread.run_sync(_shape, version, Assignment(version.version, ()))
            self._made.put(kept, made)
        return made

    async def _make(self, key: str, version: DescribedVersion) -> IcebergShape:
        async with self._store.read() as connection:
            assignment = _assignment(version, await _known(connection, key))
        made = await anyio.to_thread.run_sync(_shape, version, assignment)
        if assignment.added or assignment.gone:
            return await self._assigned(key, version)
        return made

    async def _assigned(self, key: str, version: DescribedVersion) -> IcebergShape:
        """The same in a transaction that excludes other processes, which may have assigned ids."""
        async with self._store.write([]) as connection:
            assignment = _assignment(version, await _known(connection, key))
            made = await anyio.to_thread.run_sync(_shape, version, assignment)
            for each in assignment.gone:
                found = (rows.c.table_key == key) & (rows.c.field_id == each.id)
                await connection.execute(update(rows).where(found).values(gone_at=each.gone_at))
            if not (assignment.added or assignment.gone):
                await connection.rollback()  # another process has written the same
            if assignment.added:
                added = [_row(key, each) for each in assignment.added]
                await connection.execute(insert(rows), added)
        return made


def _declared(version: DescribedVersion) -> str | None:
    """What an Iceberg table declares. It can change without a new version."""
    found = version.metadata.iceberg
    if found is None:
        return None
    numbers = f"{found.format_version} {found.default_spec}"
    texts = (found.schema, found.specs, numbers, found.sort_order or "")
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _fields(shape: IcebergShape) -> int:
    return sum(1 for _ in fields_of(shape.schema))


def _shape(version: DescribedVersion, assignment: Assignment) -> IcebergShape:
    shape = shape_of(version, assignment)
    return replace(shape, last_column_id=max(shape.last_column_id, assignment.last_id))


def _assignment(version: DescribedVersion, known: Sequence[KnownField]) -> Assignment:
    """Fields that have ids in files are numbered from 1, by Delta, and others then far above them."""
    first = _ABOVE_MAPPED if is_mapped(version.metadata) else 1
    return Assignment(version.version, known, first=first)


async def _known(connection: AsyncConnection, key: str) -> list[KnownField]:
    columns = (
        rows.c.field_id,
        rows.c.parent_id,
        rows.c.name,
        rows.c.kind,
        rows.c.seen_at,
        rows.c.gone_at,
    )
    found = await connection.execute(select(*columns).where(rows.c.table_key == key))
    return [KnownField(*row) for row in found]


def _row(key: str, known: KnownField) -> dict[str, object]:
    return {
        "table_key": key,
        "field_id": known.id,
        "parent_id": known.parent,
        "name": known.name,
        "kind": known.kind,
        "seen_at": known.seen_at,
        "gone_at": known.gone_at,
    }


def _key(table: OpenTable, version: DescribedVersion) -> str:
    """Identifies the table, but not the share: all recipients see the same ids."""
    identity = "\n".join((table.shared.catalog, table.source.id, version.metadata.id))
    return hashlib.sha256(identity.encode()).hexdigest()
