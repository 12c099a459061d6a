"""Explains what `from:` of a share or schema shares of the current listing of a catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluicegate.access.selection import (
    LeftOut,
    decide_by_patterns,
    select_assets,
    select_schemas,
    select_tables,
)
from sluicegate.api import Catalog, Schema, SharedCatalogSource, SharedSchemaSource
from sluicegate.database.names import name_key
from sluicegate.protocols.delta_sharing.assets.resolver import KINDS
from sluicegate.protocols.explain.models import NamedKind


def is_listed(schema: Schema, kind: NamedKind) -> bool:
    """Whether a catalog lists what the schema shares of a kind."""
    if schema.source is None:
        return False
    return ("tables" if kind == "table" else KINDS[kind]) in schema.source.kinds


@dataclass(frozen=True, slots=True)
class SourceListing:
    """What a catalog lists, and what of it is shared.

    Attributes:
        source: Selects what is shared.
        listed: Names in the catalog.
        shared: Names in the catalog, by names for recipients.
        left_out: What can't be shared under its name.
    """

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
