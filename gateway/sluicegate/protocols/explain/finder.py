"""Finds a shared table or asset, and explains why it is shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluicegate.access.explain.lookups import Lookups, UnknownName
from sluicegate.access.explain.steps import Step
from sluicegate.access.selection import (
    LeftOut,
    decide_by_patterns,
    select_assets,
    select_schemas,
    select_tables,
)
from sluicegate.api import (
    ASSET_KINDS,
    Catalog,
    NotFound,
    Schema,
    Share,
    SharedCatalogSource,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Unavailable,
)
from sluicegate.config.yaml import nearest
from sluicegate.database.names import name_key
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.assets.resolver import KINDS, AssetResolver
from sluicegate.protocols.explain.models import AssetPath, NamedKind


def is_listed(schema: Schema, kind: NamedKind) -> bool:
    """Whether a catalog lists what the schema shares of a kind."""
    if schema.source is None:
        return False
    return ("tables" if kind == "table" else KINDS[kind]) in schema.source.kinds


@dataclass(frozen=True, slots=True)
class SourceListing:
    """What a catalog lists, and what of it is shared."""

    source: SharedCatalogSource | SharedSchemaSource
    listed: Sequence[str]
    shared: Mapping[str, str]
    left_out: Sequence[LeftOut]

    def pattern_for(self, name: str) -> str | None:
        """The pattern of `include` that selects an item, by its name for recipients."""
        return decide_by_patterns(self.shared.get(name, name), self.source).pattern

    def reason_against(self, name: str) -> str | None:
        """Why an item that the catalog lists is not shared; `None` if it does not list such an item."""
        key = name_key(name)
        for left_out in self.left_out:
            if name_key(left_out.name) == key:
                return left_out.reason
        for listed in self.listed:
            if name_key(listed) != key:
                continue
            decision = decide_by_patterns(listed, self.source)
            if decision.excludes:
                return f"exclude '{decision.pattern}' leaves out '{listed}'"
            if decision.pattern is None:
                return f"no pattern of include matches '{listed}': {', '.join(self.source.include)}"
        return None


async def list_items(catalog: Catalog, source: SharedSchemaSource, kind: NamedKind) -> SourceListing:
    """The tables or assets of a schema; raises as the catalog does."""
    if kind == "table":
        tables = await catalog.listed_tables(source.schema)
        selected = select_tables(tables, source)
        shared = {name: table.name for name, table in selected.shared}
        return SourceListing(source, [each.name for each in tables], shared, selected.left_out)
    assets = await catalog.listed_assets(kind, source.schema)
    chosen = select_assets(kind, assets, source)
    shared = {name: asset.name for name, asset in chosen.shared}
    return SourceListing(source, [each.name for each in assets], shared, chosen.left_out)


async def list_schemas(catalog: Catalog, source: SharedCatalogSource) -> SourceListing:
    """The schemas of a catalog; raises as the catalog does."""
    listed = await catalog.list_schemas()
    selected = select_schemas(listed, source, catalog)
    shared = {name: schema.name for name, schema in selected.shared}
    return SourceListing(source, listed, shared, selected.left_out)


@dataclass(frozen=True, slots=True)
class Found:
    """A table or asset, or what prevents that it is shared.

    Attributes:
        shared: The table or asset; `None` if it is not shared, or if that cannot be decided.
    """

    share: Share
    kind: NamedKind
    shared: SharedTable | None
    steps: tuple[Step, ...]


class Finder:
    """Finds tables and assets."""

    def __init__(
        self, lookups: Lookups, resolver: Resolver, assets: AssetResolver, instances: Instances
    ) -> None:
        self._lookups = lookups
        self._resolver = resolver
        self._assets = assets
        self._instances = instances

    async def find(self, path: AssetPath, kind: NamedKind | None, *, offline: bool) -> Found:
        """Find a table or asset."""
        share = await self._lookups.share(path.share)
        kinds: Sequence[NamedKind] = (kind,) if kind else ("table", *ASSET_KINDS)
        try:
            schema, step = await self._schema(share, path.schema, offline=offline)
        except Unavailable as error:
            problem = Step("schema", "unavailable", error.for_operators)
            return Found(share, kinds[0], None, (problem,))
        if schema is None:
            return Found(share, kinds[0], None, (step,))
        if offline and schema.source is not None:
            reason = f"its catalog '{schema.source.catalog}' decides, which --offline does not query"
            return Found(share, kinds[0], None, (step, Step("table", "unknown", reason)))
        for each in kinds:
            try:
                shared = await self._one(schema, each, path.name)
            except Unavailable as error:
                problem = Step(each, "unavailable", error.for_operators)
                return Found(share, each, None, (step, problem))
            if shared is not None:
                return Found(share, each, shared, (step, await self._why(schema, each, shared)))
        return await self._missing(share, schema, step, kinds, path)

    async def _one(self, schema: Schema, kind: NamedKind, name: str) -> SharedTable | None:
        try:
            if kind == "table":
                return await self._resolver.table_of(schema, name)
            return await self._assets.asset_of(schema, kind, name)
        except NotFound:  # the catalog no longer has the schema
            return None

    async def _schema(self, share: Share, name: str, *, offline: bool) -> tuple[Schema | None, Step]:
        """The schema, and the step that explains why it is shared, or why not."""
        declared = await self._resolver.declared_schema(share, name)
        if declared is not None:
            origin = declared.source
            reason = f"the share '{share.name}' declares it" + (
                f", from: schema '{origin.schema}' of catalog '{origin.catalog}'" if origin else ""
            )
            return declared, Step("schema", "allowed", reason)
        if share.source is not None and offline:
            reason = f"the catalog '{share.source.catalog}' decides, which --offline does not query"
            return None, Step("schema", "unknown", reason)
        try:
            schema = await self._resolver.schema_of(share, name)
        except NotFound:
            return None, await self._missing_schema(share, name)
        if schema.source is None or share.source is None:  # both have one, as no schema is declared
            return schema, Step("schema", "allowed", f"from: catalog of the share '{share.name}'")
        listing = await list_schemas(self._instances.catalog(share.source.catalog), share.source)
        return schema, Step(
            "schema",
            "allowed",
            f"from: schema '{schema.source.schema}' of catalog '{schema.source.catalog}', by include "
            f"'{listing.pattern_for(schema.name)}'",
        )

    async def _missing_schema(self, share: Share, name: str) -> Step:
        if share.source is not None:
            catalog = self._instances.catalog(share.source.catalog)
            reason = (await list_schemas(catalog, share.source)).reason_against(name)
            if reason is not None:
                return Step("schema", "refused", reason)
        known = [schema.name for schema in await self._resolver.schemas_of(share)]
        hint = nearest(name, known)
        raise UnknownName(f"there is no schema '{name}' in the share '{share.name}'{hint}")

    async def _why(self, schema: Schema, kind: NamedKind, shared: SharedTable) -> Step:
        where = f"'{shared.identifier}' of catalog '{shared.catalog}'"
        source = schema.source
        if source is None or not is_listed(schema, kind):
            return Step(kind, "allowed", f"declared: {where}")
        try:
            listing = await list_items(self._instances.catalog(source.catalog), source, kind)
        except SluicegateError:
            return Step(kind, "allowed", f"from: {where}")
        if kind != "table" and shared.name not in listing.shared:
            return Step(kind, "allowed", f"declared: {where}")
        pattern = listing.pattern_for(shared.name)
        return Step(kind, "allowed", f"from: {where}, by include '{pattern}'")

    async def _missing(
        self, share: Share, schema: Schema, step: Step, kinds: Sequence[NamedKind], path: AssetPath
    ) -> Found:
        """What leaves out the name, if a catalog has it."""
        known: list[str] = []
        for kind in kinds:
            if schema.source is None or not is_listed(schema, kind):
                known += await self._declared_names(schema, kind)
                continue
            try:
                catalog = self._instances.catalog(schema.source.catalog)
                listing = await list_items(catalog, schema.source, kind)
            except SluicegateError as error:
                problem = Step(kind, "unavailable", error.for_operators)
                return Found(share, kind, None, (step, problem))
            reason = listing.reason_against(path.name)
            if reason is not None:
                return Found(share, kind, None, (step, Step(kind, "refused", reason)))
            known += listing.shared
        what = kinds[0] if len(kinds) == 1 else "table or other asset"
        hint = nearest(path.name, known)
        raise UnknownName(f"there is no {what} '{path.name}' in {share.name}.{schema.name}{hint}")

    async def _declared_names(self, schema: Schema, kind: NamedKind) -> list[str]:
        if kind == "table":
            return [table.name for table in await self._resolver.tables(schema)]
        return [asset.name for asset in await self._assets.assets(schema, kind)]
