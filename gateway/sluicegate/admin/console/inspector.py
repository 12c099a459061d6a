"""Finds shared tables and assets for administrators, who need no grant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluicegate._util.clock import epoch_ms
from sluicegate._util.lazy import Lazy
from sluicegate.access.explain.lookups import Lookups
from sluicegate.access.explain.sender import explain_sender
from sluicegate.api import ASSET_KINDS, NotFound, Principal, Schema, SharedTable
from sluicegate.config.sections.authentication import AuthenticationSettings
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.common.shared_scope import visible
from sluicegate.protocols.delta_sharing.assets.resolver import AssetResolver
from sluicegate.protocols.explain.models import AssetPath, NamedKind

if TYPE_CHECKING:
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
    from sluicegate.tables.snapshot import FileSet, Snapshot

KINDS: tuple[NamedKind, ...] = ("table", *ASSET_KINDS)


@dataclass(frozen=True, slots=True)
class Member:
    """A table or another asset of a schema."""

    kind: NamedKind
    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Inspector:
    """Reads what is shared now, from the database and from catalogs.

    Every method raises `NotFound` if a name is unknown, and `Unavailable` if the database, a catalog or
    a store does not respond.
    """

    lookups: Lookups
    resolver: Resolver
    assets: AssetResolver
    pipeline: Lazy[QueryPipeline]
    authentication: AuthenticationSettings

    async def schemas(self, share: str) -> Sequence[Schema]:
        """The schemas of a share: declared ones, and those of its catalog now."""
        return await self.resolver.schemas_of(await self.lookups.share(share))

    async def schema(self, share: str, name: str) -> Schema:
        """A schema of a share."""
        return await self.resolver.schema_of(await self.lookups.share(share), name)

    async def members(self, schema: Schema) -> list[Member]:
        """The tables and other assets of a schema: declared ones, and those of its catalog now."""
        found = [
            Member("table", each.name, each.comment) for each in await self.resolver.tables(schema)
        ]
        for kind in ASSET_KINDS:
            listed = await self.assets.assets(schema, kind)
            found += [Member(kind, each.name, each.comment) for each in listed]
        return found

    async def find(self, path: AssetPath, kind: NamedKind) -> SharedTable:
        """A table or another asset."""
        schema = await self.schema(path.share, path.schema)
        if kind == "table":
            found = await self.resolver.table_of(schema, path.name)
        else:
            found = await self.assets.asset_of(schema, kind, path.name)
        if found is None:
            raise NotFound(f"there is no {kind} '{path.name}' in {path.share}.{path.schema}")
        return found

    async def principal(self, recipient: str) -> Principal:
        """A recipient as the sender of a request."""
        known = await self.lookups.recipient(recipient)
        return explain_sender(known, self.authentication, None, epoch_ms()).principal

    async def snapshot(self, reader: Principal, table: SharedTable) -> Snapshot:
        """The newest snapshot of a table, regardless of how much of it is shared."""
        return await (await self.pipeline.get()).viewer.latest(reader, table)

    async def files_for(self, recipient: str, table: SharedTable, snapshot: Snapshot) -> FileSet:
        """The files of a snapshot that the partition filter of a table leaves for a recipient."""
        principal = await self.principal(recipient)
        return await visible(table, principal, snapshot.metadata, snapshot.files)
