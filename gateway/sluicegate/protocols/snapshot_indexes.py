"""Opens the configured folder of snapshot indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate.api.budget import TableLimits
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.signing.keyring import KeyRing

if TYPE_CHECKING:
    from sluicegate.tables.snapshot_index.folder import IndexFolder
    from sluicegate.tables.snapshot_index.tables import IndexedTables


def lazy_indexes(
    settings: Settings, keys: KeyRing, instances: Instances, limits: TableLimits
) -> Lazy[IndexedTables] | None:
    """The tables that have indexes. `None` if no folder is configured."""
    location = settings.index.location
    if location is None:
        return None

    async def folder() -> IndexFolder:
        from sluicegate.tables.snapshot_index.opening import open_folder

        return await open_folder(location, keys, instances.open_location)

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
