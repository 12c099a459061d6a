"""What shares declare, as numbers and in parts, so that no page reads all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    and_,
    func,
    or_,
    select,
)

from sluicegate.admin.identity import Admin
from sluicegate.admin.services.content_queries import (
    contains,
    in_schema,
    leaves_of_schemas,
    managed,
    matching,
)
from sluicegate.api.errors import NotFound
from sluicegate.config.yaml import nearest
from sluicegate.database import Store
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
from sluicegate.protocols.explain.models import NamedKind


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """How much some shares contain."""

    shares: int
    schemas: int
    tables: int
    assets: int
    grants: int
    open_ended: int


@dataclass(frozen=True, slots=True)
class StoredShare:
    """A share, without its content.

    Attributes:
        source: The catalog that is shared entirely, as in the database, or `None`.
    """

    id: str
    name: str
    display_name: str | None
    comment: str | None
    properties: Mapping[str, str]
    tags: Mapping[str, str]
    source: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ContentRow:
    """A table or another asset with its schema, or a schema without any.

    Attributes:
        source: The schema of a catalog that is shared entirely, as in the database, or `None`.
        kind: The kind of the asset, or `None`.
        name: Its name, or `None`.
    """

    schema: str
    source: Mapping[str, Any] | None
    size: int
    kind: NamedKind | None
    name: str | None


@dataclass(frozen=True, slots=True)
class ContentSize:
    """How much of a share matches a text: its rows, schemas, and tables with other assets."""

    rows: int
    schemas: int
    leaves: int


@dataclass(frozen=True, slots=True)
class GrantedTo:
    """The recipients of a share: the first names, and the number of all."""

    names: Sequence[str]
    total: int


_EMPTY = ContentSize(0, 0, 0)


class SharedContents:
    """Reads the content of shares in parts.

    Every method raises `Unavailable` if the database does not respond.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def count(self, admin: Admin) -> SharedCounts:
        """Count what the shares of an administrator declare."""
        mine = managed(admin)
        in_schemas = schemas.join(shares)
        async with self._store.read() as connection:
            return SharedCounts(
                shares=await _count(connection, shares, mine),
                schemas=await _count(connection, in_schemas, mine),
                tables=await _count(connection, shared_tables.join(in_schemas), mine),
                assets=await _count(connection, shared_assets.join(in_schemas), mine),
                grants=await _count(connection, grants.join(shares), mine),
                open_ended=await _count(connection, shares, and_(mine, shares.c.source.is_not(None)))
                + await _count(connection, in_schemas, and_(mine, schemas.c.source.is_not(None))),
            )

    async def count_names(self, admin: Admin, text: str) -> int:
        """The number of the shares of an administrator in which a name contains a text; see `names`."""
        async with self._store.read() as connection:
            return await _count(connection, shares, _named(admin, text))

    async def names(
        self, admin: Admin, text: str = "", *, first: int = 0, most: int | None = None
    ) -> Sequence[str]:
        """Names of the shares of an administrator in which a name contains a text, sorted."""
        query = select(shares.c.name).where(_named(admin, text)).order_by(shares.c.key)
        async with self._store.read() as connection:
            return (await connection.execute(query.offset(first).limit(most))).scalars().all()

    async def schema_names(self, admin: Admin, most: int) -> list[str]:
        """Some names of schemas in the shares of an administrator, sorted."""
        query = select(schemas.c.name).select_from(schemas.join(shares)).where(managed(admin))
        async with self._store.read() as connection:
            found = (await connection.execute(query.distinct().limit(most))).scalars()
        return sorted(found)

    async def share(self, admin: Admin, name: str) -> StoredShare:
        """A share by its name, in any case."""
        found = await self.shares([name])
        if found:
            return found[0]
        async with self._store.read() as connection:
            known = await similar_names(connection, shares, name, managed(admin))
        raise NotFound(f"there is no share '{name}'{nearest(name, known)}")

    async def shares(self, names: Sequence[str]) -> list[StoredShare]:
        """The shares of some names, sorted by name."""
        query = select(shares).where(shares.c.key.in_([name_key(name) for name in names]))
        async with self._store.read() as connection:
            rows = sorted(await connection.execute(query), key=lambda row: str(row.key))
        return [
            StoredShare(
                row.id,
                row.name,
                row.display_name,
                row.comment,
                row.properties,
                row.tags or {},
                row.source,
            )
            for row in rows
        ]

    async def recipients(self, found: Sequence[StoredShare], most: int) -> dict[str, GrantedTo]:
        """The recipients that are granted some shares, by the id of the share."""
        share, key = grants.c.share_id, recipients.c.key
        numbered = (
            select(
                share,
                recipients.c.name,
                func.count().over(partition_by=share).label("total"),
                func.row_number().over(partition_by=share, order_by=key).label("number"),
            )
            .select_from(grants.join(recipients))
            .where(share.in_([each.id for each in found]))
            .subquery()
        )
        granted = {each.id: GrantedTo([], 0) for each in found}
        async with self._store.read() as connection:
            query = select(numbered).where(numbered.c.number <= most).order_by(numbered.c.number)
            for row in await connection.execute(query):
                known = granted[row.share_id].names
                granted[row.share_id] = GrantedTo([*known, row.name], row.total)
        return granted

    async def sizes(self, found: Sequence[StoredShare], text: str) -> dict[str, ContentSize]:
        """How much of some shares matches a text, by the id of the share."""
        query, leaves = matching({share.id: share.name for share in found}, text)
        counts = query.with_only_columns(
            schemas.c.share_id,
            func.count().label("rows"),
            func.count(schemas.c.id.distinct()).label("schemas"),
            func.count(leaves.c.key).label("leaves"),
        ).group_by(schemas.c.share_id)
        async with self._store.read() as connection:
            rows = (await connection.execute(counts)).all()
        sizes = {row.share_id: ContentSize(row.rows, row.schemas, row.leaves) for row in rows}
        return {share.id: sizes.get(share.id, _EMPTY) for share in found}

    async def rows(
        self, found: Sequence[StoredShare], text: str, *, first: int, most: int
    ) -> dict[str, list[ContentRow]]:
        """A part of the rows of each of some shares, by the id of the share.

        A share or schema whose name contains the text is complete.
        """
        query, leaves = matching({share.id: share.name for share in found}, text)
        order = (schemas.c.key, leaves.c.position, leaves.c.kind, leaves.c.key)
        numbered = query.with_only_columns(
            schemas.c.share_id,
            schemas.c.name.label("schema"),
            schemas.c.source,
            leaves.c.kind,
            leaves.c.name,
            func.count(leaves.c.key).over(partition_by=schemas.c.id).label("size"),
            func.row_number().over(partition_by=schemas.c.share_id, order_by=order).label("number"),
        ).subquery()
        part = (
            select(numbered)
            .where(numbered.c.number > first, numbered.c.number <= first + most)
            .order_by(numbered.c.number)
        )
        content: dict[str, list[ContentRow]] = {share.id: [] for share in found}
        async with self._store.read() as connection:
            for row in await connection.execute(part):
                content[row.share_id].append(
                    ContentRow(row.schema, row.source, row.size, row.kind, row.name)
                )
        return content


def _named(admin: Admin, text: str) -> ColumnElement[bool]:
    if not text:
        return managed(admin)
    leaves = leaves_of_schemas()
    inner = schemas.outerjoin(leaves, leaves.c.schema_id == schemas.c.id)
    matches = select(schemas.c.share_id).select_from(inner).where(in_schema(leaves, text))
    return and_(managed(admin), or_(contains(shares.c.key, text), shares.c.id.in_(matches)))


async def _count(connection: AsyncConnection, rows: FromClause, where: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(rows).where(where)
    return int((await connection.execute(query)).scalar_one())
