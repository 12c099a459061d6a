"""Builds, runs and closes a worker's executors on one event loop, to which their connections belong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

from sluicegate.api import SnapshotIndexBuild
from sluicegate.api.delegation.tasks import TaskExecutor
from sluicegate.config import Settings
from sluicegate.delegation.grants import GrantedExecutor, RealmGrants
from sluicegate.plugins import ConfiguredInstances, Instances, Registry
from sluicegate.plugins.context import NoLinks
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


class ConfiguredExecutors:
    """The configured executors, and the context with which they open locations."""

    def __init__(
        self,
        registry: Registry,
        configured: ConfiguredInstances,
        grants: RealmGrants,
        settings: Settings,
    ) -> None:
        self._registry = registry
        self._configured = configured
        self._grants = grants
        self._settings = settings
        self._stack = AsyncExitStack()

    async def build(self) -> Mapping[str, TaskExecutor]:
        """Return the executors by operation."""
        instances = Instances(self._registry, self._configured, links=NoLinks)
        self._stack.push_async_callback(instances.aclose)
        indexes = WorkerIndexes.configured(self._settings, instances)
        executors: dict[str, TaskExecutor] = {}
        for entry in self._configured.executors:
            executor = instances.executor(entry, indexes)
            self._stack.push_async_callback(executor.aclose)
            granted = GrantedExecutor(executor, self._grants)
            executors.update(dict.fromkeys(entry.type.operations, granted))
        return executors

    async def aclose(self) -> None:
        """Close all executors."""
        await self._stack.aclose()
