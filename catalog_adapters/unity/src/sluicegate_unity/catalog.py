"""The tables of a Unity Catalog."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sluicegate.api import Catalog, CatalogTable, ListedTable, NotFound, PluginContext
from sluicegate_unity.answers import Refused
from sluicegate_unity.client import UnityClient
from sluicegate_unity.commits import Ratified, ratified
from sluicegate_unity.config import UnityConfig
from sluicegate_unity.names import Names, is_name
from sluicegate_unity.paging import listed
from sluicegate_unity.tables import UnityTable, listed_table, readable, table_of
from sluicegate_unity.vending import CredentialDesk

log = logging.getLogger(__name__)


class UnityCatalog(Catalog):
    """Schemas and Delta tables of one catalog, or of all catalogs of a server.

    Args:
        client: Asks the server.
        catalog: The one catalog; `None` for all.
        desk: Asks for credentials; `None` where the storage has its own for all tables.
    """

    def __init__(self, client: UnityClient, catalog: str | None, desk: CredentialDesk | None) -> None:
        self._client = client
        self._catalog = catalog
        self._names = Names(catalog)
        self._desk = desk

    @classmethod
    def configured(cls, config: UnityConfig, context: PluginContext) -> UnityCatalog:
        """The catalog of a section."""
        client = UnityClient.configured(context.name, config)
        desk = CredentialDesk(client) if config.credentials == "catalog" else None
        return cls(client, config.catalog, desk)

    async def list_schemas(self) -> list[str]:
        """Names of the schemas, sorted: `schema`, or `catalog.schema` of all catalogs.

        Raises:
            NotFound: The configured catalog is not there, or hidden from the gateway.
            Unavailable: The server does not answer.
        """
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
                continue  # dropped meanwhile, or hidden from the gateway
        return sorted(found)

    async def list_tables(self, schema: str) -> list[str]:
        """Names of the readable Delta tables in a schema, sorted; see `listed_tables`.

        Raises:
            NotFound: There is no such schema, or it is hidden from the gateway.
            Unavailable: The server does not answer.
        """
        return [table.name for table in await self.listed_tables(schema)]

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        """The readable Delta tables in a schema, sorted by name.

        Of tables whose names differ in upper and lower case alone, the oldest is listed: recipients
        cannot tell them apart, and a newer one must not take its place.

        Raises:
            NotFound: There is no such schema, or it is hidden from the gateway.
            Unavailable: The server does not answer.
        """
        name = self._names.schema(schema)
        query = {
            "catalog_name": name.catalog,
            "schema_name": name.schema,
            "omit_columns": "true",
            "omit_properties": "true",
        }
        with self._told(f"schema '{schema}'"):
            entries = listed(self._client, "/tables", "tables", query)
            found = [entry async for entry in entries if readable(entry)]
        oldest: dict[str, ListedTable] = {}
        for entry in sorted(found, key=_age):
            table = listed_table(entry)
            known = oldest.setdefault(table.name.casefold(), table)
            if known.name != table.name:
                log.warning("%s.%s hides '%s', which is newer", schema, known.name, table.name)
        return sorted(oldest.values(), key=lambda table: table.name)

    def identifier(self, schema: str, table: str) -> str:
        """`schema.table`, with the catalog before it where the schema's name has it.

        Raises:
            NotFound: The schema's name is none.
        """
        self._names.schema(schema)
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """Look a table up; a managed one with the commits that the catalog has ratified.

        Raises:
            NotFound: There is no such table, or it is hidden from the gateway.
            Unavailable: The server does not answer.
            UnsupportedOperation: It is a view, or of another format than Delta.
        """
        name = self._names.table(identifier)
        with self._told(f"table '{name}'"):
            table = table_of(name, await self._client.get(name.path))
            state = await ratified(self._client, table) if table.managed else Ratified()
        return await self._answer(table, state)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _answer(self, table: UnityTable, state: Ratified) -> CatalogTable:
        return CatalogTable(
            id=table.id,
            format="delta",
            location=table.location,
            commits=state.commits,
            latest_version=state.latest_version,
            vendor=await self._desk.vendor(table) if self._desk else None,
        )

    async def _schemas(self, catalog: str) -> list[str]:
        with self._told(f"catalog '{catalog}'"):
            entries = listed(self._client, "/schemas", "schemas", {"catalog_name": catalog})
            names = [entry.get("name") async for entry in entries]
        return [self._names.listed(catalog, str(name)) for name in names if is_name(name)]

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Tell what the server refuses: missing and forbidden are the same to recipients."""
        try:
            yield
        except Refused as refused:
            if refused.hides:
                message = f"the catalog '{self._client.name}' has no {what}"
                raise NotFound(message, detail=refused.detail) from refused
            raise self._client.unavailable(refused.detail) from refused
        except ValueError as error:
            raise self._client.unavailable(f"{what}: {error}") from error


def _age(entry: Any) -> tuple[int, str]:
    created = entry.get("created_at")
    return (created if isinstance(created, int) else 0, entry["name"])
