"""Checks in the catalogs that the sources of a shares file exist."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sluicegate.access.selection import (
    empty_catalog,
    empty_schema,
    select_assets,
    select_schemas,
    select_tables,
)
from sluicegate.access.shares_file.models import (
    AssetEntry,
    CatalogSourceEntry,
    ModelEntry,
    SchemaSourceEntry,
    TableEntry,
)
from sluicegate.access.shares_file.read import SharesFile
from sluicegate.api import (
    ASSET_KINDS,
    Catalog,
    SharedCatalogSource,
    SharedSchemaSource,
    SluicegateError,
)
from sluicegate.config.yaml import Location
from sluicegate.tables.refs import at_ref

_PATTERN = "*"

Source: TypeAlias = CatalogSourceEntry | SchemaSourceEntry | TableEntry | AssetEntry


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A source that recipients cannot read now: its location in the file, and the reason."""

    location: Location
    message: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A source and its location in the file."""

    location: Location
    source: Source


async def check_sources(
    file: SharesFile,
    catalogs: Callable[[str], Catalog],
    *,
    describe: Callable[[SluicegateError], str] = lambda error: error.for_operators,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[SourceProblem]:
    """Return the sources that recipients cannot read now.

    Each source causes one request to its catalog, and all requests run concurrently.

    Args:
        on_progress: Is called after each response with the number of checked sources, and of all.
    """
    places = list(_places(file))
    done = 0

    async def check(source: Source) -> str | None:
        nonlocal done
        message = await _message(source, catalogs, describe)
        done += 1
        on_progress(done, len(places))
        return message

    messages = await asyncio.gather(*(check(place.source) for place in places))
    return [
        SourceProblem(place.location, message)
        for place, message in zip(places, messages, strict=True)
        if message is not None
    ]


def _places(file: SharesFile) -> Iterator[_Place]:
    for share, entry in file.declaration.shares.items():
        if entry.source is not None:
            yield _Place(("shares", share, "from", "catalog"), entry.source)
        for name, schema in entry.schemas.items():
            inner: Location = ("shares", share, "schemas", name)
            if schema.source is not None:
                yield _Place((*inner, "from", "schema"), schema.source)
            for table, source in schema.tables.items():
                yield _Place((*inner, "tables", table, "table"), source)
            for kind, assets in schema.assets.items():
                for asset, declared in assets.items():
                    yield _Place((*inner, f"{kind}s", asset, kind), declared)


async def _message(
    source: Source, catalogs: Callable[[str], Catalog], describe: Callable[[SluicegateError], str]
) -> str | None:
    """Return the reason why recipients cannot read a source, or `None` if they can."""
    try:
        catalog = catalogs(source.catalog)
        if isinstance(source, TableEntry):
            at_ref(await catalog.load_table(source.table), source.ref)
            return None
        if isinstance(source, AssetEntry):
            return await _asset_message(source, catalog)
        if isinstance(source, CatalogSourceEntry):
            return await _catalog_message(source, catalog)
        return await _schema_message(source, catalog)
    except SluicegateError as error:
        return f"{describe(error)}{_hint(source)}"


async def _asset_message(entry: AssetEntry, catalog: Catalog) -> str | None:
    await catalog.load_asset(entry.kind, entry.identifier)
    if not isinstance(entry, ModelEntry):
        return None
    known = {version.version for version in await catalog.model_versions(entry.identifier)}
    missing = sorted({*(entry.versions or ()), *entry.aliases.values()} - known)
    return f"the model has no version {', '.join(map(str, missing))}" if missing else None


async def _catalog_message(entry: CatalogSourceEntry, catalog: Catalog) -> str | None:
    listed = await catalog.list_schemas()
    source = SharedCatalogSource(entry.catalog, entry.include, entry.exclude, alias=entry.alias)
    return empty_catalog(select_schemas(listed, source, catalog), len(listed), catalog)


async def _schema_message(entry: SchemaSourceEntry, catalog: Catalog) -> str | None:
    source = SharedSchemaSource(
        entry.catalog, entry.schema_, entry.include, entry.exclude, alias=entry.alias
    )
    messages: list[str | None] = []
    if entry.shares_tables:
        tables = await catalog.listed_tables(entry.schema_)
        messages.append(empty_schema(select_tables(tables, source), len(tables), catalog))
    for kind in ASSET_KINDS:
        if f"{kind}s" in entry.kinds:
            assets = await catalog.listed_assets(kind, entry.schema_)
            selected = select_assets(kind, assets, source)
            reason = selected.reason_for_none(len(assets), "the catalog lists none")
            messages.append(reason and f"0 {kind}s: {reason}")
    return "; ".join(filter(None, messages)) or None


def _hint(source: Source) -> str:
    """Return the correct syntax for a name that contains a pattern, or an empty text."""
    match source:
        case TableEntry() if _PATTERN in source.table:
            instead = f"to share a schema, write from: {{catalog: {source.catalog}, schema: …}}"
        case SchemaSourceEntry() if _PATTERN in source.schema_:
            instead = (
                f"to share all schemas of the catalog, write from: {{catalog: {source.catalog}}} "
                "at the share"
            )
        case _:
            return ""
    return f"; '*' is not a pattern in a name: {instead}"
