"""The tables of schemas that are shared entirely; see `schema_members`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sluicegate.access.empty_sources import empty_schema
from sluicegate.access.selection import Selection, select_tables
from sluicegate.api import (
    Catalog,
    ListedTable,
    Schema,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    UnsupportedOperation,
)
from sluicegate.database.reads import inherited_tags
from sluicegate.plugins import Instances
from sluicegate.protocols.common.schema_members import Listing, SchemaMembers, member_id

_Selected: TypeAlias = Selection[ListedTable]


class SchemaTables(SchemaMembers[ListedTable, SharedTable]):
    """Lists and finds tables."""

    def __init__(self, instances: Instances) -> None:
        super().__init__("table", instances)

    async def tables(self, schema: Schema, source: SharedSchemaSource) -> Listing[SharedTable]:
        """The tables that a schema has now; see `SchemaMembers.all`."""
        return await self.all(schema, source)

    async def table(self, schema: Schema, source: SharedSchemaSource, name: str) -> SharedTable | None:
        """The table with a name; see `SchemaMembers.one`.

        If the catalog has the name, but not as a table that the gateway can read, such as a view, the
        result is a table that is not listed. Requests for it get the catalog's reason.
        """
        found = await self.one(schema, source, name)
        return found or await self._unreadable(schema, source, name)

    async def _unreadable(
        self, schema: Schema, source: SharedSchemaSource, name: str
    ) -> SharedTable | None:
        """The table with exactly this name, if its catalog rejects it with a reason for recipients."""
        if not select_tables([ListedTable(name)], source).shared:
            return None
        try:
            catalog = self._instances.catalog(source.catalog)
            identifier = catalog.identifier(source.schema, name)
            await catalog.load_table(identifier)
        except UnsupportedOperation:
            return self._shared(schema, source, name, ListedTable(name), identifier)
        except SluicegateError:
            return None
        return None

    async def _list(self, catalog: Catalog, schema: str) -> Sequence[ListedTable]:
        return await catalog.listed_tables(schema)

    async def _look_up(self, catalog: Catalog, name: str, identifier: str) -> ListedTable:
        found = await catalog.load_table(identifier)
        return ListedTable(found.name or name, found.id, tags=found.tags)

    def _identifier(self, catalog: Catalog, schema: str, name: str) -> str:
        return catalog.identifier(schema, name)

    def _named(self, name: str) -> ListedTable:
        return ListedTable(name)

    def _select(self, listed: Sequence[ListedTable], source: SharedSchemaSource) -> _Selected:
        return select_tables(listed, source)

    def _empty(self, selected: _Selected, listed: int, catalog: Catalog) -> str | None:
        return empty_schema(selected, listed, catalog)

    def _shared(
        self,
        schema: Schema,
        source: SharedSchemaSource,
        name: str,
        listed: ListedTable,
        identifier: str,
    ) -> SharedTable:
        tags = inherited_tags(schema)
        return SharedTable(
            id=member_id(schema, listed),
            share=schema.share.name,
            share_id=schema.share.id,
            schema=schema.name,
            name=name,
            catalog=source.catalog,
            identifier=identifier,
            comment=source.comment,
            history=source.history,
            change_feed=source.change_feed,
            start_version=source.start_version,
            partition_filter=source.partition_filter,
            access_modes=source.access_modes,
            tags={**listed.tags, **tags} if listed.tags else tags,
        )
