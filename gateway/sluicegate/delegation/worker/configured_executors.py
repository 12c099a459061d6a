"""Builds, runs and closes a worker's executors on one event loop, to which their connections belong."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

from sluicegate.api.delegation.tasks import TaskExecutor
from sluicegate.config import Settings
from sluicegate.delegation.grants import GrantedExecutor, RealmGrants
from sluicegate.delegation.worker.snapshot_indexes import WorkerIndexes
from sluicegate.plugins import ConfiguredInstances, Instances, Registry
from sluicegate.plugins.context import NoLinks


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
