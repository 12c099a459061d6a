"""The volumes, models and skills of schemas that are shared entirely; see `schema_members`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sluicegate.access.selection import Selection, select_assets
from sluicegate.api import (
    AssetKind,
    Catalog,
    ListedAsset,
    Schema,
    SharedAsset,
    SharedSchemaSource,
)
from sluicegate.database.reads import inherited_tags
from sluicegate.plugins import Instances
from sluicegate.protocols.common.schema_members import SchemaMembers, member_id

_Selected: TypeAlias = Selection[ListedAsset]


class SchemaAssets(SchemaMembers[ListedAsset, SharedAsset]):
    """Lists and finds assets of one kind. The options of tables do not apply to them."""

    def __init__(self, kind: AssetKind, instances: Instances) -> None:
        super().__init__(kind, instances)
        self._asset_kind = kind

    async def _list(self, catalog: Catalog, schema: str) -> Sequence[ListedAsset]:
        return await catalog.listed_assets(self._asset_kind, schema)

    async def _look_up(self, catalog: Catalog, name: str, identifier: str) -> ListedAsset:
        found = await catalog.load_asset(self._asset_kind, identifier)
        return ListedAsset(found.name or name, found.id, location=found.location, comment=found.comment)

    def _identifier(self, catalog: Catalog, schema: str, name: str) -> str:
        return catalog.asset_identifier(self._asset_kind, schema, name)

    def _named(self, name: str) -> ListedAsset:
        return ListedAsset(name)

    def _select(self, listed: Sequence[ListedAsset], source: SharedSchemaSource) -> _Selected:
        return select_assets(self._asset_kind, listed, source)

    def _empty(self, selected: _Selected, listed: int, catalog: Catalog) -> str | None:
        return None  # most schemas have no assets of some kind

    def _shared(
        self,
        schema: Schema,
        source: SharedSchemaSource,
        name: str,
        listed: ListedAsset,
        identifier: str,
    ) -> SharedAsset:
        return SharedAsset(
            id=member_id(schema, listed, self._asset_kind),
            share=schema.share.name,
            share_id=schema.share.id,
            schema=schema.name,
            name=name,
            catalog=source.catalog,
            identifier=identifier,
            comment=listed.comment,
            kind=self._asset_kind,
            listed_location=listed.location,
            tags=inherited_tags(schema),
        )
