"""Reads and changes namespaces and tables of an Iceberg REST catalog.

Source: Iceberg REST specification; Polaris generic tables API.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sluicegate.api import HttpClient, Unavailable
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.names import Levels, TableName, joined, segment, servable
from sluicegate_iceberg.rest.auth import authorized
from sluicegate_iceberg.rest.commits import PAUSES, CommitMarks, CommittedTable, once
from sluicegate_iceberg.rest.lookups import Lookups
from sluicegate_iceberg.rest.refusal import Refused
from sluicegate_iceberg.rest.requests import Rest
from sluicegate_iceberg.rest.responses import (
    ConfigResponse,
    GenericTable,
    LoadedGenericTable,
    LoadedTable,
    NamespacesPage,
    TablesPage,
)
from sluicegate_iceberg.rest.settings import Settings

log = logging.getLogger(__name__)

_SETTINGS_SECONDS = 600.0
_SHOWN_NAMES = 10
# Metadata of tables with very many columns and snapshots has some megabytes.
_LONGEST = 64 << 20


class IcebergClient:
    """A client of one catalog."""

    def __init__(
        self,
        rest: Rest,
        config: IcebergConfig,
        clock: Callable[[], float] = time.monotonic,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self.rest = rest
        self._uri = config.uri
        self._warehouse = config.warehouse
        self._clock = clock
        self._pauses = pauses
        self._settings: Settings | None = None
        self._settings_until = 0.0
        self._settings_lock = asyncio.Lock()
        self._lookups = Lookups(rest)

    @classmethod
    def configured(cls, name: str, config: IcebergConfig) -> IcebergClient:
        """Return the client for a section of the configuration, without connecting to the catalog."""
        http = HttpClient(timeout=config.timeout, connections=config.max_concurrency, longest=_LONGEST)
        return cls(Rest(name, authorized(config, http, name), config.headers), config)

    async def settings(self) -> Settings:
        """Return the catalog's own settings, which are refreshed every ten minutes.

        While the catalog does not respond, the last known settings are returned.
        """
        if self._settings is not None and self._settings_lock.locked():
            return self._settings
        async with self._settings_lock:
            if self._settings is None or self._clock() >= self._settings_until:
                self._settings = await self._loaded_settings(self._settings)
                self._settings_until = self._clock() + _SETTINGS_SECONDS
            return self._settings

    async def namespaces(self, parent: Levels = ()) -> list[Levels]:
        """Return the namespaces below `parent`, or the top-level ones.

        For catalogs that list namespaces recursively, nested ones are included.
        """
        settings = await self.settings()
        url = settings.namespaces() + (f"?{settings.parent(parent)}" if parent else "")
        found: dict[Levels, None] = {}
        async for page in self.rest.pages(url, NamespacesPage):
            found |= dict.fromkeys(page.namespaces)
        return [levels for levels in found if _is_below(levels, parent)]

    async def tables(self, namespace: Levels) -> list[str]:
        """Return the names of the Iceberg tables in a namespace."""
        return await self._names((await self.settings()).tables(namespace), namespace)

    async def generic_tables(self, namespace: Levels) -> list[str]:
        """Return the names of the generic tables in a namespace; none if they are not supported."""
        settings = await self.settings()
        if not settings.generic_tables:
            return []
        return await self._names(settings.generic(namespace), namespace)

    async def load(self, table: TableName) -> LoadedTable:
        """Return the catalog's description of an Iceberg table, without credentials."""
        return await self._lookups.load(table, (await self.settings()).table(table))

    async def load_generic(self, table: TableName) -> GenericTable | None:
        """Return a generic table; `None` if the catalog has no generic tables."""
        settings = await self.settings()
        if not settings.generic_tables:
            return None
        return (await self.rest.ask(settings.generic_table(table), LoadedGenericTable)).table

    async def has_view(self, name: TableName) -> bool:
        """Return whether the catalog has a view with a name, as far as the gateway can see views."""
        settings = await self.settings()
        if not settings.views:
            return False
        try:
            await self.rest.get(settings.view(name))
        except Refused:
            return False
        return True

    async def commit(
        self,
        table: TableName,
        requirements: Sequence[Mapping[str, Any]],
        updates: Sequence[Mapping[str, Any]],
    ) -> None:
        """Create or change an Iceberg table. All updates are applied exactly once, or none is.

        Args:
            requirements: Conditions on the table. They must make a second application fail
                (`assert-create` or `assert-ref-snapshot-id`).
        """
        marks = CommitMarks.of(updates)
        url = (await self.settings()).table(table)
        document = {
            "identifier": {"namespace": list(table.namespace), "name": table.name},
            "requirements": list(requirements),
            "updates": list(updates),
        }

        async def has_landed() -> bool:
            return marks.are_on(await self._committed(url))

        try:
            await once(lambda: self.rest.post(url, document), has_landed, self._pauses)
        finally:
            self._lookups.forget(table)

    async def drop(self, table: TableName, is_there: Callable[[], Awaitable[bool]]) -> None:
        """Remove an Iceberg table from the catalog, without its files.

        If the table no longer exists, nothing happens.

        Args:
            is_there: Returns whether the name still belongs to the table to drop, as read from the
                catalog. Called before the request is sent again.
        """
        url = f"{(await self.settings()).table(table)}?purgeRequested=false"

        async def drop() -> None:
            try:
                await self.rest.delete(url)
            except Refused as refused:
                if not refused.says_dropped:
                    raise

        async def has_landed() -> bool:
            return not await is_there()

        try:
            await once(drop, has_landed, self._pauses)
        finally:
            self._lookups.forget(table)

    async def aclose(self) -> None:
        """Close connections."""
        await self.rest.aclose()

    async def _committed(self, url: str) -> CommittedTable | None:
        try:
            return await self.rest.ask(url, CommittedTable)
        except Refused as refused:
            if refused.says_dropped:
                return None
            raise

    async def _loaded_settings(self, known: Settings | None) -> Settings:
        url = f"{self._uri}/v1/config"
        if self._warehouse is not None:
            url += f"?warehouse={segment((self._warehouse,), '')}"
        try:
            return Settings.of(self._uri, await self.rest.ask(url, ConfigResponse))
        except Unavailable as error:
            if known is None:
                # Not as `Refused`: if the warehouse is missing, it is unknown whether a table exists.
                raise Unavailable(error.message, detail=error.detail) from error
            log.warning(
                "could not refresh the settings of a catalog, so the cached settings remain in use: %s",
                error.detail,
            )
            return known

    async def _names(self, url: str, namespace: Levels) -> list[str]:
        found: dict[str, None] = {}
        async for page in self.rest.pages(url, TablesPage):
            own = (each.name for each in page.identifiers if each.namespace == namespace)
            found |= dict.fromkeys(own)
        unservable = [name for name in found if not servable(name)]
        if unservable:
            log.warning(
                "omitted %d tables of the namespace %s from the listing, because no URL can contain "
                "their names: %s",
                len(unservable),
                joined(namespace),
                ", ".join(map(ascii, unservable[:_SHOWN_NAMES])),
            )
        return [name for name in found if servable(name)]


def _is_below(levels: Levels, parent: Levels) -> bool:
    return len(levels) > len(parent) and levels[: len(parent)] == parent and all(map(servable, levels))
