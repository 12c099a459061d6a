"""The base class of catalog plugins; part of `sluicegate.api`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sluicegate.api.assets.models import AssetKind, CatalogAsset, ModelVersion
from sluicegate.api.errors import NotFound
from sluicegate.api.models import CatalogTable, ListedTable, TablePage


class Catalog(ABC):
    """Lists and loads tables. Each entry of `catalogs:` in the configuration has one instance.

    Attributes:
        finds_by_name: Whether `load_table` finds each listed table by its exact name, with the same id
            as in the listing. The gateway then looks up a table of an entirely shared schema without
            listing the schema.
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
