"""A worker's executors: built, run and closed on one event loop, for connections belong to theirs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

from sluicegate.delegation.grants import GrantedExecutor, RealmGrants
from sluicegate.executors import TaskExecutor
from sluicegate.registry import ConfiguredInstances, Instances, Registry
from sluicegate.registry.contexts import NoLinks


class ConfiguredExecutors:
    """The executors that a configuration names, with what they open locations by.

    Args:
        registry: The loaded plugins.
        configured: Their checked sections.
        grants: What tasks of each realm may touch.
    """

    def __init__(
        self, registry: Registry, configured: ConfiguredInstances, grants: RealmGrants
    ) -> None:
        self._registry = registry
        self._configured = configured
        self._grants = grants
        self._stack = AsyncExitStack()

    async def build(self) -> Mapping[str, TaskExecutor]:
        """The executors, by operation.

        Raises:
            ConfigurationError: A plugin cannot build one from its section.
        """
        instances = Instances(self._registry, self._configured, links=NoLinks)
        self._stack.push_async_callback(instances.aclose)
        executors: dict[str, TaskExecutor] = {}
        for entry in self._configured.executors:
            executor = instances.executor(entry)
            self._stack.push_async_callback(executor.aclose)
            granted = GrantedExecutor(executor, self._grants)
            executors.update(dict.fromkeys(entry.type.operations, granted))
        return executors

    async def aclose(self) -> None:
        """Close them all."""
        await self._stack.aclose()
