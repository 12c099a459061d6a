"""Implements the gateway's `Catalog` for Iceberg REST catalogs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import anyio
from cachetools import LRUCache

from sluicegate.api import (
    Catalog,
    CatalogTable,
    HttpClient,
    NotFound,
    PluginContext,
    TableUnreadable,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.names import Levels, TableName, decoded, joined, parse_levels
from sluicegate_iceberg.rest.client import IcebergClient
from sluicegate_iceberg.rest.refusal import Refused
from sluicegate_iceberg.rest.responses import GenericTable, LoadedTable
from sluicegate_iceberg.vendor import Delegation, TableVendor

log = logging.getLogger(__name__)

_DELTA: Final = "delta"
_REMEMBERED_TABLES: Final = 10_000
# Seconds for which a format is cached, and for which a table that didn't respond is not retried.
_BELIEVED: Final = 600.0
_RETRY_AFTER: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Known:
    """The known format of a table (`None`: not known yet), and when to load it again."""

    is_delta: bool | None
    due_at: float


class GenericTables:
    """The generic tables of one catalog."""

    def __init__(
        self,
        client: IcebergClient,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._patience = patience
        self._clock = clock
        self._known: LRUCache[TableName, _Known] = LRUCache(_REMEMBERED_TABLES)

    async def find(self, name: TableName) -> GenericTable | None:
        """Return a generic table; `None` if it doesn't exist, or the catalog has no generic tables."""
        try:
            return await self._client.load_generic(name)
        except Refused as refused:
            if refused.says_missing or refused.says_not_offered:
                return None
            raise

    async def delta_tables(self, namespace: Levels) -> list[str]:
        """Return names of the Delta tables in a namespace, as far as they are known."""
        try:
            names = await self._client.generic_tables(namespace)
        except Refused as refused:
            if refused.says_missing or refused.says_not_offered:
                return []
            raise
        tables = [TableName(namespace, name) for name in names]
        await self._learn([table for table in tables if self._is_due(table)])
        return [table.name for table in tables if self._was_delta(table)]

    def _is_due(self, table: TableName) -> bool:
        known = self._known.get(table)
        return known is None or self._clock() >= known.due_at

    def _was_delta(self, table: TableName) -> bool | None:
        known = self._known.get(table)
        return None if known is None else known.is_delta

    async def _learn(self, tables: Sequence[TableName]) -> None:
        for table in tables:  # if loading fails, the cached format remains
            self._known[table] = _Known(self._was_delta(table), self._clock() + _RETRY_AFTER)
        silent: dict[TableName, str | None] = dict.fromkeys(tables, "no response in time")
        with anyio.move_on_after(self._patience):
            async with anyio.create_task_group() as asking:
                for table in tables:
                    asking.start_soon(self._ask, table, silent)
        for table, reason in silent.items():
            listed = "listed according to its last known format"
            known = "not listed" if self._was_delta(table) is None else listed
            log.warning("the generic table %s is %s: %s", table, known, reason)

    async def _ask(self, table: TableName, silent: dict[TableName, str | None]) -> None:
        try:
            found = await self.find(table)
        except Unavailable as error:
            silent[table] = error.detail
            return
        self._known[table] = _Known(found is not None and is_delta(found), self._clock() + _BELIEVED)
        del silent[table]


def is_delta(table: GenericTable) -> bool:
    """Return whether a generic table is a Delta table."""
    return table.format.lower() == _DELTA


_MOST_NAMESPACES = 100_000
_DEEPEST = 50  # levels
_IS_VIEW = (
    "the table cannot be shared: it is a view in its catalog, which has no files; the provider must "
    "write its rows to a table, and share that table"
)


class IcebergCatalog(Catalog):
    """Shows namespaces as schemas, and Iceberg tables and Polaris' generic Delta tables as tables."""

    def __init__(
        self, name: str, client: IcebergClient, generic: GenericTables, *, vends: bool
    ) -> None:
        self._name = name
        self._client = client
        self._generic = generic
        self._delegation = Delegation(client) if vends else None

    @classmethod
    def configured(cls, config: IcebergConfig, context: PluginContext) -> IcebergCatalog:
        """Return the catalog of a configuration section, without connecting to it."""
        client = IcebergClient.configured(context.name, config)
        generic = GenericTables(client, patience=config.timeout / 2)
        return cls(context.name, client, generic, vends=config.credentials == "catalog")

    async def list_schemas(self) -> list[str]:
        """Return names of all namespaces, sorted; levels are separated by dots."""
        found = set(await self._client.namespaces())
        unseen = found
        while unseen:
            below = await asyncio.gather(*map(self._below, unseen))
            unseen = {levels for each in below for levels in each} - found
            found |= unseen
            if len(found) > _MOST_NAMESPACES or any(len(each) > _DEEPEST for each in unseen):
                raise Unavailable(
                    f"the catalog '{self._name}' lists too many or too deeply nested namespaces; "
                    "ask the catalog's operator",
                    detail=f"{len(found)} namespaces, up to {max(map(len, found))} levels",
                )
        return sorted(map(joined, found))

    def readable_schema(self, schema: str) -> str:
        """Return the levels of a namespace joined by dots, without percent-encoding."""
        return decoded(schema)

    async def list_tables(self, schema: str) -> list[str]:
        """Return names of the tables in a namespace, sorted."""
        try:
            namespace = parse_levels(schema)
        except ValueError as error:
            raise self._no_schema(schema, str(error)) from error
        try:
            names = set(await self._client.tables(namespace))
            return sorted(names.union(await self._generic.delta_tables(namespace)))
        except Refused as refused:
            if refused.says_missing:
                raise self._no_schema(schema, refused.detail) from refused
            raise

    def identifier(self, schema: str, table: str) -> str:
        """Return schema and table joined by a dot.

        Dots and percent signs in names are percent-encoded.
        """
        return f"{schema}.{joined((table,))}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """Look up a table; see `Catalog.load_table`."""
        try:
            name = TableName.parse(identifier)
        except ValueError as error:
            raise self._no_table(identifier, str(error)) from error
        try:
            return self._iceberg_table(name, await self._client.load(name))
        except Refused as refused:
            if not refused.says_missing:
                raise
            generic = await self._generic.find(name)
            if generic is not None:
                return self._delta_table(name, generic)
            if await self._client.has_view(name):
                raise UnsupportedOperation(_IS_VIEW, detail=str(name)) from refused
            raise self._no_table(identifier, refused.detail) from refused

    def preload(self) -> None:
        """Import the library for HTTP requests."""
        HttpClient.preload()

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    async def _below(self, namespace: Levels) -> list[Levels]:
        """Return nested namespaces; none if the namespace was dropped meanwhile, or can't be listed."""
        try:
            return await self._client.namespaces(namespace)
        except Refused as refused:
            if refused.says_missing:
                return []
            raise

    def _iceberg_table(self, name: TableName, loaded: LoadedTable) -> CatalogTable:
        location = loaded.metadata.location.rstrip("/")
        table_id = loaded.metadata.identity
        if loaded.metadata_location is None:
            raise TableUnreadable(
                "the table's catalog does not report the location of the table's metadata; ask the "
                "catalog's operator",
                detail=str(name),
            )
        return CatalogTable(
            id=table_id,
            format="iceberg",
            location=location,
            metadata_location=loaded.metadata_location,
            vendor=self._vendor(name, table_id, loaded),
            refs=loaded.metadata.refs,
        )

    def _vendor(self, name: TableName, table_id: str, loaded: LoadedTable) -> TableVendor | None:
        if self._delegation is None:
            return None
        return TableVendor(self._name, self._delegation, name, table_id, loaded.config)

    def _delta_table(self, name: TableName, table: GenericTable) -> CatalogTable:
        """Use the storage's credentials: Polaris vends none for generic tables."""
        if not is_delta(table):
            raise UnsupportedOperation(
                "the table is neither an Iceberg nor a Delta table", detail=f"{name}: {table.format}"
            )
        location = (table.base_location or table.properties.get("location", "")).rstrip("/")
        return CatalogTable(id=str(uuid5(NAMESPACE_URL, location)), format="delta", location=location)

    def _no_schema(self, schema: str, detail: str | None) -> NotFound:
        return NotFound(f"catalog '{self._name}' has no schema '{schema}'", detail=detail)

    def _no_table(self, identifier: str, detail: str | None) -> NotFound:
        return NotFound(f"catalog '{self._name}' has no table '{identifier}'", detail=detail)
