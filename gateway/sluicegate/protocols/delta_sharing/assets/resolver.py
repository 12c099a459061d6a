"""Resolves the names of assets in requests: grant, policies, and catalog lookup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from sluicegate.access.grants import Grants
from sluicegate.access.selection import Selection, select_assets
from sluicegate.api import (
    ASSET_KINDS,
    AssetKind,
    Catalog,
    CatalogAsset,
    CatalogTable,
    ConfigurationError,
    CredentialVendor,
    ListedAsset,
    ModelVersion,
    NotFound,
    PermissionDenied,
    PolicyAction,
    Principal,
    Schema,
    SharedAsset,
    SharedKind,
    SharedSchemaSource,
    Unauthenticated,
    Unavailable,
)
from sluicegate.audit.trail import note_table
from sluicegate.database.names import name_key
from sluicegate.database.reads import inherited_tags
from sluicegate.plugins import Instances
from sluicegate.protocols.common.all_tables import tables_of_all
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.common.schema_members import SchemaMembers, member_id
from sluicegate.telemetry import span

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


KINDS: Final[Mapping[AssetKind, SharedKind]] = {
    "volume": "volumes",
    "model": "models",
    "skill": "skills",
}
"""Kinds of assets, as an entirely shared schema names them."""


@dataclass(frozen=True, slots=True)
class AssetName:
    """An asset as a request names it. All names are case-insensitive."""

    kind: AssetKind
    share: str
    schema: str
    name: str


class AssetResolver:
    """Finds the assets that a recipient names, within its grants and what policies allow of them."""

    def __init__(self, grants: Grants, resolver: Resolver, instances: Instances) -> None:
        self._grants = grants
        self._resolver = resolver
        self._instances = instances
        self._listed = {kind: SchemaAssets(kind, instances) for kind in ASSET_KINDS}

    async def schema(self, principal: Principal, share: str, name: str) -> Schema:
        """The schema with a name; see `Resolver.schema`."""
        return await self._resolver.schema(principal, share, name)

    async def assets(self, schema: Schema, kind: AssetKind) -> Sequence[SharedAsset]:
        """The assets of a kind in a schema, sorted by casefolded name: declared ones, and listed ones.

        A declared asset replaces the catalog's asset with the same name.
        """
        return await self._with_listed(schema, kind, await self._grants.assets(schema, kind))

    async def all_assets(self, principal: Principal, share: str, kind: AssetKind) -> list[SharedAsset]:
        """The assets of a kind in all schemas of a share, sorted by casefolded names.

        If a catalog is down, only the assets that it lists are missing.
        """
        stored = {schema.id for schema in await self._grants.schemas(principal, share)}

        async def declared(schema: Schema) -> Sequence[SharedAsset]:
            # A catalog can have thousands of schemas, which the database does not know.
            return await self._grants.assets(schema, kind) if schema.id in stored else ()

        async def every(schema: Schema) -> Sequence[SharedAsset]:
            return await self._with_listed(schema, kind, await declared(schema))

        shared_as = KINDS[kind]
        schemas = await self._resolver.reachable(principal, share, shared_as)
        return await tables_of_all(schemas, every, shared_as, declared)

    async def shown(self, principal: Principal, assets: Sequence[SharedAsset]) -> Sequence[SharedAsset]:
        """Return the granted assets that a recipient can see.

        Calls each policy once for all of them.
        """
        return await self._resolver.shown(principal, assets)

    async def asset(
        self, principal: Principal, named: AssetName, action: PolicyAction = "read"
    ) -> SharedAsset:
        """The shared asset with a name."""
        schema = await self._resolver.schema(principal, named.share, named.schema)
        found = await self.asset_of(schema, named.kind, named.name)
        missing = NotFound(f"there is no {named.kind} {named.name!r} in {named.share}.{named.schema}")
        if found is None:
            raise missing
        note_table(found)
        if (policy := await self._resolver.denied_by(principal, "read", found)) is not None:
            raise missing.decided_by(f"policy {policy}")
        if action == "vend":
            policy = await self._resolver.denied_by(principal, "vend", found)
            if policy is not None:
                raise PermissionDenied(
                    "the provider's policies allow no temporary credentials for the "
                    f"{found.kind} {found.full_name}"
                ).decided_by(f"policy {policy}")
        return found

    async def asset_of(self, schema: Schema, kind: AssetKind, name: str) -> SharedAsset | None:
        """An asset of a schema, before policies decide; `None` if there is none."""
        declared = await self._grants.asset(schema, kind, name)
        if declared is not None or schema.source is None:
            return declared
        if KINDS[kind] not in schema.source.kinds:
            return None
        return await self._listed[kind].one(schema, schema.source, name)

    async def _with_listed(
        self, schema: Schema, kind: AssetKind, declared: Sequence[SharedAsset]
    ) -> Sequence[SharedAsset]:
        if schema.source is None or KINDS[kind] not in schema.source.kinds:
            return declared
        listing = await self._listed[kind].all(schema, schema.source)
        if not declared:
            return listing.ordered
        merged = {**listing.by_key, **{name_key(asset.name): asset for asset in declared}}
        return [merged[key] for key in sorted(merged)]

    async def locate(self, shared: SharedAsset) -> CatalogAsset:
        """Look up an asset in its catalog."""
        with span("resolve", catalog=shared.catalog), errors_about(shared):
            catalog = self._instances.catalog(shared.catalog)
            return await catalog.load_asset(shared.kind, shared.identifier)

    async def versions(self, shared: SharedAsset) -> list[ModelVersion]:
        """All versions of a model, whatever their status; see `locate`."""
        with span("resolve", catalog=shared.catalog), errors_about(shared):
            return await self._instances.catalog(shared.catalog).model_versions(shared.identifier)

    def directory(
        self, shared: SharedAsset, identity: str, location: str, vendor: CredentialVendor | None
    ) -> CatalogTable:
        """A directory of an asset, as vending and storage need it, in canonical form."""
        with errors_about(shared):
            canonical, _ = self._instances.storage_for(location)
            if {".", ".."} & set(canonical.split("/")):
                raise ConfigurationError("the location has a segment '.' or '..'", detail=location)
        return CatalogTable(identity, shared.kind, canonical.rstrip("/"), vendor=vendor)

    def canonical(self, location: str) -> str:
        """The canonical form of a location."""
        return self._instances.canonical(location).rstrip("/")


@contextmanager
def errors_about(shared: SharedAsset) -> Iterator[None]:
    """Convert errors of catalogs and storage into errors that name only the asset."""
    what = f"the {shared.kind} {shared.full_name}"
    try:
        yield
    except ConfigurationError as error:
        raise Unavailable(
            f"{what} cannot be served now: the provider must fix the gateway's configuration",
            detail=error.for_operators,
        ) from error
    except NotFound as error:
        raise NotFound(f"{what} no longer exists", detail=error.for_operators) from error
    except (PermissionDenied, Unauthenticated) as error:
        # The catalog does not know the recipient, so this is no 403 or 401.
        raise Unavailable(
            f"the catalog of {what} denies the gateway access; contact the provider",
            detail=error.for_operators,
        ) from error
