"""What the gateway asks an Iceberg REST catalog about namespaces and tables.

Source: Iceberg's REST catalog specification; Polaris' specification of generic tables.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

from sluicegate.api import HttpClient, Unavailable
from sluicegate_iceberg.answers import (
    ConfigAnswer,
    GenericTable,
    LoadedGenericTable,
    LoadedTable,
    NamespacesPage,
    TablesPage,
)
from sluicegate_iceberg.auth import authorized
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.names import Levels, TableName, segment, servable
from sluicegate_iceberg.properties import public
from sluicegate_iceberg.rest import Rest
from sluicegate_iceberg.settings import Settings

log = logging.getLogger(__name__)

_SETTINGS_SECONDS = 600.0
# Metadata of tables with very many columns and snapshots has some megabytes.
_LONGEST = 64 << 20
_REMEMBERED_TABLES = 10_000
_LONGEST_KEPT = 16_384  # characters of what is remembered of a table
# Where a table is takes no list of all its snapshots, which may be long.
_BRIEF = "?snapshots=refs"


@dataclass(frozen=True, slots=True)
class _Kept:
    """The last answer about a table, without secrets, and its entity tag."""

    url: str
    etag: str
    table: LoadedTable


class IcebergClient:
    """Asks one catalog.

    Args:
        rest: Sends the questions.
        config: The catalog's section.
        clock: Seconds, monotonic.

    Attributes:
        rest: Sends the questions.
    """

    def __init__(
        self, rest: Rest, config: IcebergConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rest = rest
        self._uri = config.uri
        self._warehouse = config.warehouse
        self._clock = clock
        self._settings: Settings | None = None
        self._settings_until = 0.0
        self._asking_settings = asyncio.Lock()
        self._kept: LRUCache[TableName, _Kept] = LRUCache(_REMEMBERED_TABLES)

    @classmethod
    def configured(cls, name: str, config: IcebergConfig) -> IcebergClient:
        """The client that a section describes; nothing is asked yet.

        Args:
            name: The catalog's name in the configuration.
            config: Its section.
        """
        http = HttpClient(timeout=config.timeout, connections=config.max_concurrency, longest=_LONGEST)
        return cls(Rest(name, authorized(config, http, name), config.headers), config)

    async def settings(self) -> Settings:
        """The catalog's own settings, asked for now and then; the last ones while it does not answer.

        Raises:
            Unavailable: It has never answered.
        """
        if self._settings is not None and self._asking_settings.locked():
            return self._settings
        async with self._asking_settings:
            if self._settings is None or self._clock() >= self._settings_until:
                self._settings = await self._asked_settings(self._settings)
                self._settings_until = self._clock() + _SETTINGS_SECONDS
            return self._settings

    async def namespaces(self, parent: Levels = ()) -> list[Levels]:
        """Namespaces below another one, or at the top; some catalogs list them with all below them.

        Raises:
            Refused: There is no such parent, or it may not be listed.
            Unavailable: The catalog does not answer.
        """
        settings = await self.settings()
        url = settings.namespaces() + (f"?{settings.parent(parent)}" if parent else "")
        found: dict[Levels, None] = {}
        async for page in self.rest.pages(url, NamespacesPage):
            found |= dict.fromkeys(page.namespaces)
        return [levels for levels in found if _is_below(levels, parent)]

    async def tables(self, namespace: Levels) -> list[str]:
        """Names of the Iceberg tables of a namespace.

        Raises:
            Refused: There is no such namespace, or it may not be listed.
            Unavailable: The catalog does not answer.
        """
        return await self._names((await self.settings()).tables(namespace), namespace)

    async def generic_tables(self, namespace: Levels) -> list[str]:
        """Names of the generic tables of a namespace; none where the catalog knows none.

        Raises:
            Refused: There is no such namespace, or it may not be listed.
            Unavailable: The catalog does not answer.
        """
        settings = await self.settings()
        if not settings.generic_tables:
            return []
        return await self._names(settings.generic(namespace), namespace)

    async def load(self, table: TableName) -> LoadedTable:
        """What the catalog says of an Iceberg table, without credentials.

        Raises:
            Refused: There is no such table, or it may not be read.
            Unavailable: The catalog does not answer.
        """
        url = (await self.settings()).table(table) + _BRIEF
        kept = self._kept.get(table)
        # The tag is the same with credentials and without: it is sent only here, where none are wanted.
        headers = {"If-None-Match": kept.etag} if kept is not None and kept.url == url else {}
        answer = await self.rest.get(url, headers)
        if answer.status == 304 and kept is not None:
            return kept.table
        loaded = await self.rest.read(url, answer, LoadedTable)
        known = loaded.model_copy(update={"config": public(loaded.config), "storage_credentials": ()})
        etag = answer.headers.get("ETag")
        if etag and known.length + len(etag) <= _LONGEST_KEPT:
            self._kept[table] = _Kept(url, etag, known)
        return known

    async def load_generic(self, table: TableName) -> GenericTable | None:
        """A generic table; `None` where the catalog knows none.

        Raises:
            Refused: There is no such table, or it may not be read.
            Unavailable: The catalog does not answer.
        """
        settings = await self.settings()
        if not settings.generic_tables:
            return None
        return (await self.rest.ask(settings.generic_table(table), LoadedGenericTable)).table

    async def drop(self, table: TableName) -> None:
        """Take an Iceberg table out of the catalog, which is told to keep its files.

        Raises:
            Refused: There is no such table, or it may not be dropped.
            Unavailable: The catalog does not answer.
        """
        url = (await self.settings()).table(table)
        await self.rest.delete(f"{url}?purgeRequested=false")
        self._kept.pop(table, None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.rest.aclose()

    async def _asked_settings(self, known: Settings | None) -> Settings:
        url = f"{self._uri}/v1/config"
        if self._warehouse is not None:
            url += f"?warehouse={segment((self._warehouse,), '')}"
        try:
            return Settings.of(self._uri, await self.rest.ask(url, ConfigAnswer))
        except Unavailable as error:
            if known is None:
                # Never as a refusal: without its warehouse, nobody knows that a table is gone.
                raise Unavailable(error.message, detail=error.detail) from error
            log.warning("the settings of a catalog are kept a little longer: %s", error.detail)
            return known

    async def _names(self, url: str, namespace: Levels) -> list[str]:
        found: dict[str, None] = {}
        async for page in self.rest.pages(url, TablesPage):
            own = (each.name for each in page.identifiers if each.namespace == namespace)
            found |= dict.fromkeys(filter(servable, own))
        return list(found)


def _is_below(levels: Levels, parent: Levels) -> bool:
    return len(levels) > len(parent) and levels[: len(parent)] == parent and all(map(servable, levels))
