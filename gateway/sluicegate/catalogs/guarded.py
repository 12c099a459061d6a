"""A configured catalog as requests meet it: bounded in time and number, remembered, and checked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio

from sluicegate.api import (
    Catalog,
    CatalogConfig,
    CatalogTable,
    ListedTable,
    SluicegateError,
    Unavailable,
)
from sluicegate.catalogs.memory import Remembered
from sluicegate.telemetry import count, span

_T = TypeVar("_T")

log = logging.getLogger(__name__)


class GuardedCatalog(Catalog):
    """Asks a catalog as rarely as its configuration allows, and never waits for it without end.

    What it answers is at most as old as `CatalogConfig.max_age` and `stale_while_revalidate` say; a
    table that is pinned to one state (a metadata location, ratified commits) only as `max_age` says.

    Args:
        name: The catalog's name in the configuration.
        catalog: The adapter's instance.
        config: Its section.
        clock: Seconds, monotonic.
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
        self._timeout = config.timeout
        self._limiter = anyio.Semaphore(config.max_concurrency)
        ages = (config.max_age, config.stale_while_revalidate, clock)
        self._schemas: Remembered[list[str]] = Remembered(*ages)
        self._tables: Remembered[list[ListedTable]] = Remembered(*ages)
        self._lookups: Remembered[CatalogTable] = Remembered(*ages, may_be_stale=_is_unpinned)

    async def list_schemas(self) -> list[str]:
        """See `Catalog.list_schemas`."""
        return await self._schemas.get((), lambda: self._call("schemas", self._catalog.list_schemas))

    async def list_tables(self, schema: str) -> list[str]:
        """See `Catalog.list_tables`."""
        return [table.name for table in await self.listed_tables(schema)]

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        """See `Catalog.listed_tables`; the same list, as long as the catalog is not asked again."""

        def ask() -> Coroutine[Any, Any, list[ListedTable]]:
            return self._call("tables", lambda: self._catalog.listed_tables(schema))

        return await self._tables.get(schema, ask)

    def identifier(self, schema: str, table: str) -> str:
        """See `Catalog.identifier`."""
        return self._catalog.identifier(schema, table)

    async def load_table(self, identifier: str) -> CatalogTable:
        """See `Catalog.load_table`."""

        def ask() -> Coroutine[Any, Any, CatalogTable]:
            return self._call("table", lambda: self._load(identifier))

        return await self._lookups.get(identifier, ask)

    async def aclose(self) -> None:
        """Stop asking, and close the catalog."""
        for remembered in (self._schemas, self._tables, self._lookups):
            await remembered.aclose()
        await self._catalog.aclose()

    async def _load(self, identifier: str) -> CatalogTable:
        table = await self._catalog.load_table(identifier)
        if not table.id or "://" not in table.location or table.location.endswith("/"):
            raise Unavailable(
                f"the catalog '{self._name}' does not say where the table is",
                detail=f"{identifier}: id {table.id!r}, location {table.location!r}",
            )
        return table

    async def _call(self, what: str, ask: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """One question to the catalog.

        Raises:
            Unavailable: It does not answer in time, or not at all, or nonsense.
            SluicegateError: What the catalog raises.
        """
        outcome = "failed"
        try:
            with span("catalog", catalog=self._name, question=what):
                answer = await self._bounded(ask)
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
            count("sluicegate.catalog.requests", catalog=self._name, outcome=outcome)
        return answer

    async def _bounded(self, ask: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        try:
            with anyio.fail_after(self._timeout):
                async with self._limiter:
                    return await ask()
        except TimeoutError as error:
            raise Unavailable(
                f"the catalog '{self._name}' does not answer now; try again later",
                detail=f"no answer within {self._timeout} seconds",
            ) from error


def _is_unpinned(table: CatalogTable) -> bool:
    """The answer does not say which state of the table is its latest."""
    return table.metadata_location is None and table.latest_version is None
