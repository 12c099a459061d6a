"""A catalog and a storage for the table in memory, in place of configured ones."""

from __future__ import annotations

from collections.abc import Sequence

from obstore.store import MemoryStore

from sluicegate._util.clock import epoch_ms
from sluicegate.api import (
    Catalog,
    CatalogConfig,
    CatalogTable,
    CatalogType,
    FormatType,
    ObjectDirectory,
    PluginContext,
    Presigned,
    Storage,
    StorageConfig,
    StorageType,
    TableFormat,
    TemporaryCredentials,
)
from sluicegate.plugins import Instances, Registry
from sluicegate.plugins.configured import ConfiguredCatalog, ConfiguredInstances, ConfiguredStorage
from sluicegate.plugins.context import NoLinks
from sluicegate.protocols.delta_sharing.rehearsal.table import FOLDER

NAME = "rehearsal"
_PREFIX = f"memory://{NAME}/"


def rehearsal_instances(store: MemoryStore, delta: TableFormat) -> Instances:
    """Instances without plugins: one table in a store.

    Args:
        store: Contains the log in `FOLDER`.
        delta: Reads the table.
    """

    def storage(config: StorageConfig, context: PluginContext) -> Storage:
        return _MemoryStorage(store)

    configured = ConfiguredInstances(
        catalogs=(
            ConfiguredCatalog(NAME, CatalogType(NAME, CatalogConfig, _OneTable), CatalogConfig()),
        ),
        storage=(
            ConfiguredStorage(
                NAME,
                StorageType(NAME, ("memory",), StorageConfig, storage),
                StorageConfig(prefix=_PREFIX),
            ),
        ),
        authenticators=(),
    )
    formats = [FormatType("delta", lambda: delta)]
    return Instances(Registry([]), configured, links=NoLinks, formats=formats)


class _OneTable(Catalog):
    def __init__(self, config: CatalogConfig, context: PluginContext) -> None:
        self._table = CatalogTable(NAME, "delta", f"{_PREFIX}{FOLDER}")

    async def list_schemas(self) -> list[str]:
        return [NAME]

    async def list_tables(self, schema: str) -> list[str]:
        return [NAME]

    def identifier(self, schema: str, table: str) -> str:
        return table

    async def load_table(self, identifier: str) -> CatalogTable:
        return self._table


class _MemoryStorage(Storage):
    """Returns locations as URLs."""

    def __init__(self, store: MemoryStore) -> None:
        self._directory = ObjectDirectory(store, FOLDER)

    @property
    def prefix(self) -> str:
        return _PREFIX

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        return Presigned(list(locations), epoch_ms() + expires_in * 1000)

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        return self._directory
