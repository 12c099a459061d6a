"""Tables named by their location; folders of tables as schemas."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import obstore
from obstore.exceptions import BaseError

from sluicegate.api import (
    Catalog,
    CatalogTable,
    ConfigurationError,
    NotFound,
    ObjectDirectory,
    PermissionDenied,
    PluginContext,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_paths.config import PathsConfig
from sluicegate_paths.locations import normalised

_CONCURRENT_PROBES = 16


class PathsCatalog(Catalog):
    """A catalog without a service: an identifier is a table's location."""

    def __init__(self, config: PathsConfig, context: PluginContext) -> None:
        self._schemas = config.schemas
        self._context = context

    async def list_schemas(self) -> list[str]:
        """Names of the configured folders, sorted."""
        return sorted(self._schemas)

    async def list_tables(self, schema: str) -> list[str]:
        """Names of the folder's sub-folders that hold a Delta log, sorted.

        Raises:
            NotFound: There is no such schema.
            Unavailable: The store does not answer, or no configured storage serves the folder.
        """
        location = self._folder(schema)
        with self._as_unavailable(schema):
            names = await _subfolders(await self._context.open(location))
            limiter = anyio.CapacityLimiter(_CONCURRENT_PROBES)
            found = await asyncio.gather(
                *(self._is_table(f"{location}/{name}", limiter) for name in names)
            )
        return [name for name, is_table in zip(names, found, strict=True) if is_table]

    def identifier(self, schema: str, table: str) -> str:
        """The location of a listed table.

        Raises:
            NotFound: There is no such schema.
        """
        return f"{self._folder(schema)}/{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """The table of a location, without asking the store: reading the log tells whether it is there.

        Raises:
            NotFound: The identifier is no location.
        """
        try:
            location = normalised(identifier)
        except ValueError as error:
            raise NotFound(
                f"the table's identifier is no location: {error}", detail=identifier
            ) from error
        return CatalogTable(str(uuid.uuid5(uuid.NAMESPACE_URL, location)), "delta", location)

    def _folder(self, schema: str) -> str:
        try:
            return self._schemas[schema]
        except KeyError:
            raise NotFound(f"catalog '{self._context.name}' has no schema '{schema}'") from None

    async def _is_table(self, location: str, limiter: anyio.CapacityLimiter) -> bool:
        async with limiter:
            try:
                directory = await self._context.open(location)
            except (PermissionDenied, UnsupportedOperation):
                return False
            async for _ in obstore.list(directory.store, directory.key("_delta_log"), chunk_size=1):
                return True
            return False

    @contextmanager
    def _as_unavailable(self, schema: str) -> Iterator[None]:
        place = f"schema '{schema}' of catalog '{self._context.name}'"
        try:
            yield
        except ConfigurationError as error:
            raise Unavailable(
                f"no configured storage serves {place}: add one whose prefix holds its folder",
                detail=error.detail,
            ) from error
        except (BaseError, OSError, ValueError) as error:
            raise Unavailable(f"{place} cannot be listed now", detail=str(error)) from error


async def _subfolders(directory: ObjectDirectory) -> list[str]:
    """Names of the folders directly in a directory, sorted."""
    listed = await obstore.list_with_delimiter_async(directory.store, directory.prefix or None)
    return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in listed["common_prefixes"])
