"""Implements the gateway's `Catalog` for Unity Catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sluicegate.api import (
    AssetKind,
    AssetPage,
    Catalog,
    CatalogAsset,
    CatalogTable,
    CredentialVendor,
    HttpClient,
    ListedAsset,
    ListedTable,
    ModelVersion,
    NotFound,
    PluginContext,
    TablePage,
)
from sluicegate_unity.assets import (
    LISTINGS,
    UnityDirectory,
    listed_asset,
    model_of,
    model_version,
    version_of,
    volume_of,
)
from sluicegate_unity.client import UnityClient
from sluicegate_unity.commits import Ratified, ratified
from sluicegate_unity.config import UnityConfig
from sluicegate_unity.names import Names, is_name
from sluicegate_unity.paging import listed, page_of
from sluicegate_unity.responses import Refused
from sluicegate_unity.tables import UnityTable, listed_table, readable, table_of, tags_of
from sluicegate_unity.vending import CredentialDesk


class UnityCatalog(Catalog):
    """Schemas and Delta tables of one catalog, or of all catalogs of a server."""

    finds_by_name = True
    # Without grants, the catalog returns an empty list instead of an error.
    reason_for_none = "the gateway may lack USE SCHEMA or SELECT"
    reason_for_no_schemas = "the gateway may lack USE CATALOG or USE SCHEMA"

    def __init__(
        self,
        client: UnityClient,
        catalog: str | None,
        desk: CredentialDesk | None,
        tags: Sequence[str] = (),
    ) -> None:
        self._client = client
        self._catalog = catalog
        self._names = Names(catalog)
        self._desk = desk
        self._tags = tags

    @classmethod
    def configured(cls, config: UnityConfig, context: PluginContext) -> UnityCatalog:
        """Return the catalog of a configuration section."""
        client = UnityClient.configured(context.name, config)
        desk = CredentialDesk(client) if config.credentials == "catalog" else None
        return cls(client, config.catalog, desk, config.tag_properties)

    async def list_schemas(self) -> list[str]:
        """Return names of the schemas, sorted: `schema`, or `catalog.schema` for all catalogs."""
        if self._catalog is not None:
            return sorted(await self._schemas(self._catalog))
        with self._told("catalogs"):
            catalogs = [
                entry.get("name") async for entry in listed(self._client, "/catalogs", "catalogs")
            ]
        found: list[str] = []
        for catalog in filter(is_name, catalogs):
            try:
                found += await self._schemas(str(catalog))
            except NotFound:
                continue  # dropped in the meantime, or hidden from the gateway
        return sorted(found)

    async def list_tables(self, schema: str) -> list[str]:
        """Return names of the readable Delta tables in a schema, sorted; see `listed_tables`."""
        return [table.name for table in await self.listed_tables(schema)]

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        """Return the readable Delta tables in a schema, sorted by name; see `table_page`."""
        with self._told(f"schema '{schema}'"):
            entries = listed(self._client, "/tables", "tables", self._tables_of(schema))
            found = [listed_table(entry, self._tags) async for entry in entries if readable(entry)]
        return sorted(found, key=lambda table: table.name)

    async def table_page(self, schema: str, token: str | None) -> TablePage:
        """Return a page of the readable Delta tables in a schema."""
        query = self._tables_of(schema)
        with self._told(f"schema '{schema}'"):
            entries, following = await page_of(self._client, "/tables", "tables", query, token)
        tables = [listed_table(entry, self._tags) for entry in entries if readable(entry)]
        return TablePage(tables, following)

    def _tables_of(self, schema: str) -> Mapping[str, str]:
        # Properties are many, and often long.
        omitted = (
            {"omit_columns": "true"}
            if self._tags
            else {"omit_columns": "true", "omit_properties": "true"}
        )
        return {**self._within(schema), **omitted}

    def _within(self, schema: str) -> Mapping[str, str]:
        name = self._names.schema(schema)
        return {"catalog_name": name.catalog, "schema_name": name.schema}

    def identifier(self, schema: str, table: str) -> str:
        """Return `schema.table`, with the catalog in front if the schema's name contains it."""
        self._names.schema(schema)
        return f"{schema}.{table}"

    def canonical_schema(self, schema: str) -> str:
        """Return `catalog.schema`."""
        try:
            name = self._names.schema(schema)
        except NotFound:
            return schema
        return f"{name.catalog}.{name.schema}"

    def canonical_identifier(self, identifier: str) -> str:
        """Return `catalog.schema.table`."""
        try:
            return str(self._names.table(identifier))
        except NotFound:
            return identifier

    async def load_table(self, identifier: str) -> CatalogTable:
        """Look up a table, including commits ratified by the catalog, and UniForm's metadata."""
        name = self._names.table(identifier)
        with self._told(f"table '{name}'"):
            table = table_of(name, await self._client.get(name.path))
            asked = table.managed or table.is_uniform
            state = await ratified(self._client, table) if asked else Ratified()
        return await self._answer(table, state)

    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        """Look up a volume or registered model. The catalog has no skills."""
        name = self._names.asset(identifier, kind)
        with self._told(f"{kind} '{name}'"):
            if kind == "model":
                return model_of(name, await self._client.get(f"/models/{name.quoted}"))
            if kind == "skill":
                raise NotFound(f"the catalog '{self._client.name}' has no skills", detail=identifier)
            answer = await self._client.get(f"/volumes/{name.quoted}")
            volume = volume_of(name, answer)
        comment = answer.get("comment")
        return CatalogAsset(
            id=volume.id,
            location=volume.location,
            comment=comment if isinstance(comment, str) else None,
            vendor=await self._desk.vendor(volume) if self._desk else None,
            name=str(answer.get("name")),
        )

    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        """Return the volumes or registered models in a schema, sorted by name; see `asset_page`."""
        if kind not in LISTINGS:
            return await super().listed_assets(kind, schema)
        path, key, _ = LISTINGS[kind]
        with self._told(f"schema '{schema}'"):
            entries = listed(self._client, path, key, self._within(schema))
            found = [listed_asset(kind, entry) async for entry in entries]
        return sorted(filter(None, found), key=lambda asset: asset.name)

    async def asset_page(self, kind: AssetKind, schema: str, token: str | None) -> AssetPage:
        """Return a page of the volumes or registered models in a schema."""
        if kind not in LISTINGS:
            return await super().asset_page(kind, schema, token)
        path, key, _ = LISTINGS[kind]
        query = self._within(schema)
        with self._told(f"schema '{schema}'"):
            entries, following = await page_of(self._client, path, key, query, token)
        found = (listed_asset(kind, entry) for entry in entries)
        return AssetPage([asset for asset in found if asset is not None], following)

    async def model_versions(self, identifier: str) -> list[ModelVersion]:
        """Return the versions of a registered model. The server has no aliases.

        Versions without a location or a known status are left out.
        """
        name = self._names.asset(identifier, "model")
        versions: list[ModelVersion] = []
        with self._told(f"model '{name}'"):
            path = f"/models/{name.quoted}/versions"
            async for entry in listed(self._client, path, "model_versions"):
                directory = version_of(name, entry)
                if directory is not None:
                    vendor = await self._version_vendor(entry, directory)
                    versions.append(model_version(entry, directory, vendor))
        return sorted(versions, key=lambda version: version.version)

    async def _version_vendor(
        self, entry: Mapping[str, Any], directory: UnityDirectory
    ) -> CredentialVendor | None:
        # The server issues credentials only for finished versions.
        if self._desk is None or entry.get("status") != "READY":
            return None
        return await self._desk.vendor(directory)

    def preload(self) -> None:
        """Import the library for HTTP requests."""
        HttpClient.preload()

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _answer(self, table: UnityTable, state: Ratified) -> CatalogTable:
        return CatalogTable(
            id=table.id,
            format="delta",
            location=table.location,
            commits=state.commits,
            latest_version=state.latest_version,
            metadata_location=state.iceberg_metadata,
            vendor=await self._desk.vendor(table) if self._desk else None,
            name=table.listed_name,
            tags=tags_of(table.properties, self._tags),
        )

    async def _schemas(self, catalog: str) -> list[str]:
        with self._told(f"catalog '{catalog}'"):
            entries = listed(self._client, "/schemas", "schemas", {"catalog_name": catalog})
            names = [entry.get("name") async for entry in entries]
        return [self._names.listed(catalog, str(name)) for name in names if is_name(name)]

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Translate errors of the server. Missing and forbidden objects are the same to recipients."""
        try:
            yield
        except Refused as refused:
            if refused.hides:
                message = f"the catalog '{self._client.name}' has no {what}"
                raise NotFound(message, detail=refused.detail) from refused
            raise self._client.unavailable(refused.detail) from refused
        except ValueError as error:
            raise self._client.unavailable(f"{what}: {error}") from error
