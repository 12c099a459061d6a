"""A catalog of the tables in a manifest, which is read again when it changes."""

from __future__ import annotations

import uuid

import anyio.to_thread

from sluicegate.api import Catalog, CatalogTable, NotFound, PluginContext, Unavailable
from sluicegate_manifest.config import ManifestConfig
from sluicegate_manifest.manifest import BrokenManifestError, Tables, read_manifest

_Stamp = tuple[int, int]


class ManifestCatalog(Catalog):
    """Tables that a file lists. The identity of a table is its name and location."""

    def __init__(self, config: ManifestConfig, context: PluginContext) -> None:
        self._file = config.file
        self._format = config.format
        self._name = context.name
        self._read: tuple[_Stamp, Tables] | None = None

    async def list_schemas(self) -> list[str]:
        """Return the names of the schemas in the file, sorted."""
        return sorted(await self._tables())

    async def list_tables(self, schema: str) -> list[str]:
        """Return the names of a schema's tables, sorted.

        Raises:
            NotFound: The file doesn't contain the schema.
        """
        tables = (await self._tables()).get(schema)
        if tables is None:
            raise NotFound(f"catalog '{self._name}' has no schema '{schema}'")
        return sorted(tables)

    def identifier(self, schema: str, table: str) -> str:
        """Return `schema.table`. Names of schemas can't contain dots."""
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """Look up a table.

        Raises:
            NotFound: The file doesn't list the table.
            Unavailable: The file can't be read, or is invalid.
        """
        schema, _, table = identifier.partition(".")
        location = (await self._tables()).get(schema, {}).get(table)
        if location is None:
            raise NotFound(f"catalog '{self._name}' has no such table", detail=identifier)
        name = f"{identifier} {location}"
        return CatalogTable(str(uuid.uuid5(uuid.NAMESPACE_URL, name)), self._format, location)

    async def _tables(self) -> Tables:
        try:
            return await anyio.to_thread.run_sync(self._current)
        except (OSError, BrokenManifestError) as error:
            raise Unavailable(
                f"the manifest of catalog '{self._name}' cannot be read now; try again later",
                detail=f"{self._file}: {error}",
            ) from error

    def _current(self) -> Tables:
        """Return the current tables. The file is read only if it has changed."""
        status = self._file.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        if self._read is None or self._read[0] != stamp:
            self._read = (stamp, read_manifest(self._file))
        return self._read[1]
