"""The marker of hooks, and the types of instances that hooks register."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pluggy

from sluicegate.api.config import CatalogConfig, PluginConfig, StorageConfig

if TYPE_CHECKING:
    from sluicegate.api.access import Authenticator, Policy
    from sluicegate.api.catalogs import Catalog
    from sluicegate.api.context import ExecutorContext, PluginContext
    from sluicegate.api.delegation.tasks import TaskExecutor
    from sluicegate.api.storage import Storage
    from sluicegate.api.table_formats import TableFormat

hookimpl = pluggy.HookimplMarker("sluicegate")
"""Marks a function in a plugin's module as the implementation of the hook with the same name."""


@dataclass(frozen=True, slots=True)
class CatalogType:
    """A type of catalog: its name in the configuration, its model, and a factory of instances."""

    name: str
    config: type[CatalogConfig]
    factory: Callable[[Any, PluginContext], Catalog]


@dataclass(frozen=True, slots=True)
class StorageType:
    """A type of storage, and the URL schemes that it serves.

    Attributes:
        name: Its `type` in the configuration.
        schemes: Equivalent schemes. The gateway writes locations with the first one.
        config: Model of the section.
        factory: Creates an instance from a validated section.
        canonical: Returns the canonical form of a location, if forms differ in more than the scheme. It
            returns locations that it cannot parse unchanged. The default replaces only the scheme.
    """

    name: str
    schemes: tuple[str, ...]
    config: type[StorageConfig]
    factory: Callable[[Any, PluginContext], Storage]
    canonical: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class FormatType:
    """A table format. `name` is the value of `CatalogTable.format`."""

    name: str
    factory: Callable[[], TableFormat]


@dataclass(frozen=True, slots=True)
class AuthenticatorType:
    """A type of authenticator."""

    name: str
    config: type[PluginConfig]
    factory: Callable[[Any, PluginContext], Authenticator]


@dataclass(frozen=True, slots=True)
class PolicyType:
    """A type of policy."""

    name: str
    config: type[PluginConfig]
    factory: Callable[[Any, PluginContext], Policy]


@dataclass(frozen=True, slots=True)
class TaskExecutorType:
    """A type of task executor, and the operations that it runs.

    Attributes:
        catalogs: Returns the names of the catalogs in a section. Tasks that name another catalog use
            only the locations in their payload, if these are granted. Without this function, every
            catalog that a task names must be granted to its realm.
    """

    name: str
    operations: tuple[str, ...]
    config: type[PluginConfig]
    factory: Callable[[Any, ExecutorContext], TaskExecutor]
    catalogs: Callable[[Any], Collection[str]] | None = None
