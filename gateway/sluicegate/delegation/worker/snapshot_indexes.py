"""Builds snapshot indexes for the executors of a worker, which has the key of manifests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sluicegate.api import SnapshotIndexBuild
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.load import load_keys


class WorkerIndexes:
    """The `api.SnapshotIndexes` of a worker."""

    def __init__(self, location: str, min_files: int, keys: KeyRing, instances: Instances) -> None:
        self._location = location
        self._min_files = min_files
        self._keys = keys
        self._instances = instances

    @classmethod
    def configured(cls, settings: Settings, instances: Instances) -> WorkerIndexes | None:
        """What the section `index` configures; `None` if it names no folder."""
        location = settings.index.location
        if location is None:
            return None
        return cls(location, settings.index.min_files, load_keys(settings), instances)

    async def build(
        self,
        catalog: str,
        table: str,
        *,
        check_location: Callable[[str], None],
        before_publication: Callable[[], Awaitable[None]],
    ) -> SnapshotIndexBuild | None:
        """See `SnapshotIndexes.build`."""
        # Imported with the first build, because idle workers do not need Arrow.
        import pyarrow as pa

        from sluicegate.tables.snapshot_index.opening import open_folder
        from sluicegate.tables.snapshot_index.writing.building import (
            TooFewFiles,
            build_index,
            check_format,
        )

        found = await self._instances.catalog(catalog).load_table(table)
        check_location(found.location)
        check_format(found, table)
        folder = await open_folder(self._location, self._keys, self._instances.open_location)
        directory = await self._instances.open_location(found.location)
        try:
            built = await build_index(
                folder,
                found,
                directory,
                min_files=self._min_files,
                before_publication=before_publication,
            )
        except TooFewFiles:
            return None
        finally:
            pa.default_memory_pool().release_unused()  # the worker runs other tasks next
        index = built.index
        return SnapshotIndexBuild(
            index.manifest.version,
            index.manifest.files,
            index.parts,
            index.parts - built.kept,
            built.reason,
        )
