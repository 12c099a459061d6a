"""Wraps a configured catalog with timeouts, limits, caches, and checks of its responses."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import anyio

from sluicegate.api import (
    ASSET_KINDS,
    AssetKind,
    Catalog,
    CatalogAsset,
    CatalogConfig,
    CatalogTable,
    ListedAsset,
    ListedTable,
    ModelVersion,
    SluicegateError,
    Unavailable,
)
from sluicegate.plugins.catalogs.catalog_cache import CatalogCache
from sluicegate.plugins.catalogs.paged_listings import ListingPage, PagedListings, SchemaListing
from sluicegate.telemetry import count, span

_T = TypeVar("_T")

log = logging.getLogger(__name__)

# Seconds that a request waits for the pages of a listing. Then it fails, and the listing continues.
_LONGEST_WAIT = 60.0


class GuardedCatalog(Catalog):
    """A catalog whose responses are cached, and whose requests have timeouts.

    Responses are at most as old as `CatalogConfig.max_age` plus `stale_while_revalidate`. For a table
    that is pinned to one state (a metadata location, ratified commits) the limit is `max_age`.
    """

    def __init__(
        self,
        name: str,
        catalog: Catalog,
        config: CatalogConfig,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._catalog = catalog
        self.finds_by_name = catalog.finds_by_name
        self.reason_for_none = catalog.reason_for_none
        self.reason_for_no_schemas = catalog.reason_for_no_schemas
        self._timeout = config.timeout
        self._limiter = anyio.Semaphore(config.max_concurrency)
        ages = (config.max_age, config.stale_while_revalidate, clock)
        self._schemas: CatalogCache[list[str]] = CatalogCache(*ages)
        self._listings = PagedListings(name, self._page, clock)
        self._tables: CatalogCache[SchemaListing[ListedTable]] = CatalogCache(
            *ages, dated=lambda listing: listing.requested_at
        )
        self._asset_listings = {
            kind: PagedListings(name, partial(self._asset_page, kind), clock, f"{kind}s")
            for kind in ASSET_KINDS
        }
        self._listed_assets: CatalogCache[SchemaListing[ListedAsset]] = CatalogCache(
            *ages, dated=lambda listing: listing.requested_at
        )
        self._lookups: CatalogCache[CatalogTable] = CatalogCache(*ages, may_be_stale=_is_unpinned)
        self._assets: CatalogCache[CatalogAsset] = CatalogCache(*ages)
        self._versions: CatalogCache[list[ModelVersion]] = CatalogCache(*ages)

    async def list_schemas(self) -> list[str]:
        """See `Catalog.list_schemas`."""
        return await self._schemas.get(
            (), lambda: self._call("list_schemas", self._catalog.list_schemas)
        )

    async def list_tables(self, schema: str) -> list[str]:
        """See `Catalog.list_tables`."""
        return [table.name for table in await self.listed_tables(schema)]

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        """See `Catalog.listed_tables`. Returns the same list object while the listing is cached.

        `timeout` limits each page of it. A caller that waits longer than a minute for all pages gets an
        error, and the listing continues in the background.
        """
        with self._waiting_for(schema):
            key = self.canonical_schema(schema)
            return (await self._tables.get(key, lambda: self._listings.list(schema))).items

    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        """See `Catalog.listed_assets`, and `listed_tables`."""
        listings = self._asset_listings[kind]
        with self._waiting_for(schema):
            key = kind, self.canonical_schema(schema)
            return (await self._listed_assets.get(key, lambda: listings.list(schema))).items

    def asset_identifier(self, kind: AssetKind, schema: str, name: str) -> str:
        """See `Catalog.asset_identifier`."""
        return self._catalog.asset_identifier(kind, schema, name)

    def identifier(self, schema: str, table: str) -> str:
        """See `Catalog.identifier`."""
        return self._catalog.identifier(schema, table)

    async def load_table(self, identifier: str) -> CatalogTable:
        """See `Catalog.load_table`."""

        def ask() -> Coroutine[Any, Any, CatalogTable]:
            return self._call("load_table", lambda: self._load(identifier))

        return await self._lookups.get(self.canonical_identifier(identifier), ask)

    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        """See `Catalog.load_asset`."""

        def ask() -> Coroutine[Any, Any, CatalogAsset]:
            return self._call("load_asset", lambda: self._load_asset(kind, identifier))

        return await self._assets.get((kind, identifier), ask)

    async def model_versions(self, identifier: str) -> list[ModelVersion]:
        """See `Catalog.model_versions`."""

        def ask() -> Coroutine[Any, Any, list[ModelVersion]]:
            return self._call("model_versions", lambda: self._load_versions(identifier))

        return await self._versions.get(identifier, ask)

    def canonical_schema(self, schema: str) -> str:
        """See `Catalog.canonical_schema`."""
        return self._catalog.canonical_schema(schema)

    def readable_schema(self, schema: str) -> str:
        """See `Catalog.readable_schema`."""
        return self._catalog.readable_schema(schema)

    def canonical_identifier(self, identifier: str) -> str:
        """See `Catalog.canonical_identifier`."""
        return self._catalog.canonical_identifier(identifier)

    def preload(self) -> None:
        """See `Catalog.preload`."""
        self._catalog.preload()

    async def aclose(self) -> None:
        """Cancel running requests, and close the catalog."""
        for remembered in (
            self._schemas,
            self._tables,
            self._listed_assets,
            self._lookups,
            self._assets,
            self._versions,
        ):
            await remembered.aclose()
        await self._catalog.aclose()

    @contextmanager
    def _waiting_for(self, schema: str) -> Iterator[None]:
        try:
            with anyio.fail_after(_LONGEST_WAIT):
                yield
        except TimeoutError as error:
            raise Unavailable(
                f"the catalog '{self._name}' is still listing the schema; try again later",
                detail=f"{schema}: not complete after {_LONGEST_WAIT:.0f} seconds",
            ) from error

    async def _page(self, schema: str, token: str | None) -> ListingPage[ListedTable]:
        page = await self._call("list_tables", lambda: self._catalog.table_page(schema, token))
        return ListingPage(page.tables, page.next_token)

    async def _asset_page(
        self, kind: AssetKind, schema: str, token: str | None
    ) -> ListingPage[ListedAsset]:
        page = await self._call("list_assets", lambda: self._catalog.asset_page(kind, schema, token))
        return ListingPage(page.assets, page.next_token)

    async def _load(self, identifier: str) -> CatalogTable:
        table = await self._catalog.load_table(identifier)
        self._check(identifier, "table", _problem(table.id, table.location))
        return table

    async def _load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        asset = await self._catalog.load_asset(kind, identifier)
        problem = _problem(asset.id, asset.location) if asset.location is not None else None
        self._check(identifier, kind, problem)
        return asset

    async def _load_versions(self, identifier: str) -> list[ModelVersion]:
        versions = await self._catalog.model_versions(identifier)
        for version in versions:
            problem = _problem(version.id or "none", version.location)
            self._check(identifier, f"version {version.version} of the model", problem)
        return versions

    def _check(self, identifier: str, what: str, problem: str | None) -> None:
        if problem is not None:
            raise Unavailable(
                f"the catalog '{self._name}' does not say where the {what} is",
                detail=f"{identifier}: {problem}",
            )

    async def _call(self, method: str, request: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Send one request to the catalog, in the span `catalog.METHOD`."""
        outcome = "failed"
        with span(f"catalog.{method}", catalog=self._name) as current:
            try:
                response = await self._bounded(request)
                outcome = "answered"
            except Unavailable:
                raise
            except SluicegateError:
                outcome = "refused"
                raise
            except Exception as error:
                log.exception("catalog '%s' failed", self._name)
                raise Unavailable(f"the catalog '{self._name}' cannot be used now") from error
            finally:
                current.set_attribute("outcome", outcome)
                count("sluicegate.catalog.requests", catalog=self._name, outcome=outcome)
        return response

    async def _bounded(self, request: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        try:
            with anyio.fail_after(self._timeout):
                async with self._limiter:
                    return await request()
        except TimeoutError as error:
            raise Unavailable(
                f"the catalog '{self._name}' does not respond now; try again later",
                detail=f"no response within {self._timeout} seconds",
            ) from error


def _is_unpinned(table: CatalogTable) -> bool:
    """Whether the response does not name the latest state of the table."""
    return table.metadata_location is None and table.latest_version is None


def _problem(identity: str, location: str) -> str | None:
    if not identity:
        return "the id is empty"
    if "://" not in location:
        return f"the location {location!r} is not an absolute URL"
    if location.endswith("/"):
        return f"the location {location!r} ends with a slash"
    return None
