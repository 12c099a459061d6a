"""The schemas of a share: those that it declares, and those that its catalog lists now.

Source: Delta Sharing protocol, "Names": recipients' names are case-insensitive.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import NAMESPACE_URL, uuid5

from sluicegate._util.lru import LRU
from sluicegate.access.grants import Grants
from sluicegate.access.selection import (
    Selection,
    empty_catalog,
    empty_schema,
    select_schemas,
    select_tables,
)
from sluicegate.api import (
    Catalog,
    ListedTable,
    NotFound,
    Principal,
    Schema,
    Share,
    SharedCatalogSource,
    SharedKind,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.database.names import name_key
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


log = logging.getLogger(__name__)

_CAPACITY = 200_000  # schemas


@dataclass(frozen=True, slots=True)
class _Made:
    """The schemas of a catalog by recipients' names, and the inputs that they were built from."""

    share: Share
    listed: Sequence[str]
    by_key: Mapping[str, Schema]


class ShareSchemas:
    """Lists and finds the schemas of shares.

    A schema that the share declares replaces the catalog's schema with the same name. The schemas of a
    catalog are built once per catalog response, however many requests need them.
    """

    def __init__(self, grants: Grants, instances: Instances) -> None:
        self._grants = grants
        self._instances = instances
        self._made: LRU[str, _Made] = LRU(_CAPACITY, lambda made: len(made.listed) + 1)

    async def schemas(self, principal: Principal, share: str) -> Sequence[Schema]:
        """The schemas of a granted share, sorted by casefolded name."""
        return await self.schemas_of(await self._grants.share(principal, share))

    async def schemas_of(self, share: Share) -> Sequence[Schema]:
        """The schemas of a share, sorted by casefolded name."""
        declared = await self._grants.schemas_of(share)
        if share.source is None:
            return declared
        return _merged(await self._listed(share, share.source), declared)

    async def reachable(self, principal: Principal, share: str, kind: SharedKind) -> Sequence[Schema]:
        """The schemas that can contain items of a kind, as far as they can be listed now.

        Those of a catalog are left out if it cannot list them now, or does not share the kind.
        """
        granted = await self._grants.share(principal, share)
        declared = await self._grants.schemas(principal, share)
        if granted.source is None or kind not in granted.source.kinds:
            return declared
        try:
            return _merged(await self._listed(granted, granted.source), declared)
        except Unavailable as error:
            log.warning(
                "the catalog of share %s is left out of the listing: %s",
                granted.name,
                error.for_operators,
            )
            return declared

    async def schema(self, principal: Principal, share: str, name: str) -> Schema:
        """A schema of a granted share. Names are case-insensitive."""
        return await self.schema_of(await self._grants.share(principal, share), name)

    async def schema_of(self, share: Share, name: str) -> Schema:
        """A schema of a share; raises as `schema` does."""
        try:
            return await self._grants.schema_of(share, name)
        except NotFound:
            if share.source is None:
                raise
            found = (await self._listed(share, share.source)).get(name_key(name))
            if found is None:
                raise
            return found

    async def _listed(self, share: Share, source: SharedCatalogSource) -> Mapping[str, Schema]:
        try:
            catalog = self._instances.catalog(source.catalog)
            listed = await catalog.list_schemas()
        except SluicegateError as error:
            # A share whose catalog no longer exists is still granted, so this is not a 404.
            raise Unavailable(
                f"the schemas of the share {share.name} cannot be listed now; try again later",
                detail=error.for_operators,
            ) from error
        made = self._made.get(share.id)
        if made is None or made.share != share or made.listed != listed:
            made = _Made(share, listed, _schemas(share, source, catalog, listed))
            self._made.put(share.id, made)
        return made.by_key


def _merged(listed: Mapping[str, Schema], declared: Sequence[Schema]) -> list[Schema]:
    merged = {**listed, **{name_key(schema.name): schema for schema in declared}}
    return [merged[key] for key in sorted(merged)]


def _schemas(
    share: Share, source: SharedCatalogSource, catalog: Catalog, listed: Sequence[str]
) -> dict[str, Schema]:
    selected = select_schemas(listed, source, catalog)
    if reason := empty_catalog(selected, len(listed), catalog):
        log.warning("share %s has %s", share.name, reason)
    for left_out in selected.left_out:
        log.warning(
            "schema %r of share %s is not shared: %s", left_out.name, share.name, left_out.reason
        )
    return {
        name_key(name): Schema(
            id=_schema_id(share, source, catalog.canonical_schema(each.name)),
            share=share,
            name=name,
            source=source.schema(each.name),
        )
        for name, each in selected.shared
    }


def _schema_id(share: Share, source: SharedCatalogSource, schema: str) -> str:
    # A schema of another catalog is a different schema, even if it has the same name.
    return str(uuid5(NAMESPACE_URL, json.dumps([share.id, source.catalog, schema])))
