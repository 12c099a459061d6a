"""The base class of catalog plugins; part of `sluicegate.api`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sluicegate.api.assets.models import AssetKind, AssetPage, CatalogAsset, ListedAsset, ModelVersion
from sluicegate.api.errors import NotFound, UnsupportedOperation
from sluicegate.api.models import CatalogTable, ListedTable, TablePage


class Catalog(ABC):
    """Lists and loads tables. Each entry of `catalogs:` in the configuration has one instance.

    Attributes:
        finds_by_name: Whether `load_table` finds each listed table by its exact name, with the same id
            as in the listing, and `load_asset` each listed asset. The gateway then looks up a table or
            asset of an entirely shared schema without listing the schema.
        reason_for_none: A possible reason for an empty listing of tables, for operators.
        reason_for_no_schemas: A possible reason for an empty listing of schemas, for operators.
    """

    finds_by_name: bool = False
    reason_for_none: str = "the catalog lists none that the gateway can read"
    reason_for_no_schemas: str = "the catalog lists none that the gateway can read"

    @abstractmethod
    async def list_schemas(self) -> list[str]:
        """Return the names of the schemas, sorted."""

    @abstractmethod
    async def list_tables(self, schema: str) -> list[str]:
        """Return the names of the readable tables in a schema, sorted.

        Raises:
            NotFound: The schema does not exist.
        """

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        """Return the tables of `list_tables`, with their ids if the listing contains them.

        Override this method if listings contain ids: recipients then see a new id if a table is dropped
        and created again. Without ids, the gateway identifies tables by name.

        Raises:
            NotFound: The schema does not exist.
        """
        return [ListedTable(name) for name in await self.list_tables(schema)]

    async def table_page(self, schema: str, token: str | None) -> TablePage:
        """Return a page of the tables of `listed_tables`, in any order.

        Override this method if the catalog returns pages: `timeout` then applies to each page instead
        of the entire listing, and a failed listing continues at the page that failed.

        Args:
            schema: One of `list_schemas`.
            token: The `next_token` of the previous page; `None` for the first page.

        Raises:
            NotFound: The schema does not exist.
            Unavailable: The catalog does not respond.
        """
        return TablePage(await self.listed_tables(schema))

    @abstractmethod
    def identifier(self, schema: str, table: str) -> str:
        """Return the identifier of a listed table for `load_table`."""

    def canonical_schema(self, schema: str) -> str:
        """Return the canonical name of a schema, which is the key for cached responses. No I/O.

        Override this method if a schema has several names, such as with and without the name of the
        catalog. Return an invalid name unchanged.
        """
        return schema

    def readable_schema(self, schema: str) -> str:
        """Return the name of a listed schema without the escapes of this catalog. No I/O.

        Override this method if `list_schemas` encodes characters. If the schema is shared with an
        alias, the alias replaces characters of this name. By default, the name is returned unchanged.
        """
        return schema

    def canonical_identifier(self, identifier: str) -> str:
        """Return the canonical identifier of a table; see `canonical_schema`."""
        return identifier

    @abstractmethod
    async def load_table(self, identifier: str) -> CatalogTable:
        """Look up a table.

        Raises:
            NotFound: The table does not exist, or the gateway is not allowed to see it.
            Unavailable: The catalog does not respond.
        """

    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        """Look up a volume, model or skill. By default, a catalog has none.

        Override this method, and for models also `model_versions`, if the catalog has such assets. The
        gateway reads the fields of a skill from the file `SKILL.md` in its location.

        Args:
            kind: The kind of the asset.
            identifier: Its name in this catalog, as the shares file contains it.

        Raises:
            NotFound: The asset does not exist, or the gateway is not allowed to see it.
            Unavailable: The catalog does not respond.
        """
        raise NotFound(f"the catalog has no {kind}s", detail=identifier)

    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        """Return the assets of a kind in a schema, sorted by name. By default, none can be listed.

        Override this method if the catalog can list such assets. Providers can then share all of them
        with `kinds`, in addition to the tables of a schema.

        Args:
            kind: The kind of the assets.
            schema: One of `list_schemas`.

        Raises:
            NotFound: The schema does not exist.
            UnsupportedOperation: The catalog cannot list assets of this kind.
            Unavailable: The catalog does not respond.
        """
        raise UnsupportedOperation(f"the catalog cannot list {kind}s", detail=schema)

    async def asset_page(self, kind: AssetKind, schema: str, token: str | None) -> AssetPage:
        """Return a page of the assets of `listed_assets`, in any order; see `table_page`.

        Raises:
            NotFound: The schema does not exist.
            UnsupportedOperation: The catalog cannot list assets of this kind.
            Unavailable: The catalog does not respond.
        """
        return AssetPage(await self.listed_assets(kind, schema))

    def asset_identifier(self, kind: AssetKind, schema: str, name: str) -> str:
        """Return the identifier of a listed asset for `load_asset`. By default, like a table's."""
        return self.identifier(schema, name)

    async def model_versions(self, identifier: str) -> list[ModelVersion]:
        """Return all versions of a model, whatever their status, in ascending order.

        Raises:
            NotFound: The model does not exist, or the gateway is not allowed to see it.
            Unavailable: The catalog does not respond.
        """
        raise NotFound("the catalog has no models", detail=identifier)

    def preload(self) -> None:  # noqa: B027 (having nothing to import is the usual case)
        """Import the modules that the first request needs.

        Called once at startup, in a worker thread. The gateway is ready after all of these calls, and
        an error prevents the start. Do not contact other systems, which might be unavailable.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections. Called once, at shutdown."""
