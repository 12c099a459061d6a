"""Opens the configured folder of snapshot indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import anyio

from sluicegate._util.lazy import Lazy
from sluicegate.api.budget import TableLimits
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.signing.keyring import KeyRing

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.folder import IndexFolder
    from sluicegate.tables.snapshot_index.tables import IndexedTables

_LOCAL = "file"


def lazy_indexes(
    settings: Settings, keys: KeyRing, instances: Instances, limits: TableLimits
) -> Lazy[IndexedTables] | None:
    """The tables that have indexes. `None` if no folder is configured.

    Args:
        settings: The section `index` names the folder.
        keys: The gateway's keys, which authenticate indexes.
        instances: The storage that contains the folder.
        limits: Limits of one read of a table's log.
    """
    location = settings.index.location
    if location is None:
        return None

    async def folder() -> IndexFolder:
        return await open_folder(location, keys, instances)

    def tables() -> IndexedTables:
        from sluicegate.tables.snapshot_index.tables import IndexedTables

        return IndexedTables(
            folder,
            min_files=settings.index.min_files,
            max_bytes=settings.index.memory,
            limits=limits,
        )

    return Lazy(tables)


async def close_indexes(indexes: Lazy[IndexedTables] | None) -> None:
    """Cancel what is being loaded for indexed tables."""
    made = None if indexes is None else indexes.made
    if made is not None:
        await made.aclose()


async def open_folder(location: str, keys: KeyRing, instances: Instances) -> IndexFolder:
    """Open a folder of indexes. A local one is created.

    Args:
        location: The folder.
        keys: The gateway's keys.
        instances: The storage that contains the folder, unless it is local.

    Raises:
        ConfigurationError: No storage serves the location.
        StorageError: The store does not respond.
    """
    from obstore.store import LocalStore

    from sluicegate.tables.snapshot_index.blocking_store import BlockingStore
    from sluicegate.tables.snapshot_index.folder import IndexFolder

    parts = urlsplit(location)
    if parts.scheme == _LOCAL:
        path = anyio.Path(unquote(parts.path))
        await path.mkdir(mode=0o700, parents=True, exist_ok=True)  # it says what is in the tables
        return IndexFolder(BlockingStore(LocalStore(str(path))), "", keys)
    canonical, storage = instances.storage_for(location)
    directory = await storage.open(canonical)
    return IndexFolder(BlockingStore(directory.store, on_loop=True), directory.prefix, keys)
