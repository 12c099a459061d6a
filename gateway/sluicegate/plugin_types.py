"""What hooks register: kinds of instances, by the `type` that the configuration names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sluicegate.plugin_config import CatalogConfig, PluginConfig, StorageConfig

if TYPE_CHECKING:
    from sluicegate.api import Authenticator, Catalog, PluginContext, Policy, Storage, TableFormat
    from sluicegate.executors import TaskExecutor


@dataclass(frozen=True, slots=True)
class CatalogType:
    """A kind of catalog: `type` in the configuration, its model, and what builds an instance."""

    name: str
    config: type[CatalogConfig]
    factory: Callable[[Any, PluginContext], Catalog]


@dataclass(frozen=True, slots=True)
class StorageType:
    """A kind of storage, and the URL schemes that it serves.

    Attributes:
        name: Its `type` in the configuration.
        schemes: Interchangeable ones; the gateway spells locations with the first.
        config: Model of the section.
        factory: Builds an instance of a checked section.
        canonical: Gives the one spelling of a location, where spellings of it differ in more than the
            scheme; what it cannot read it returns as it is. By default only the scheme is replaced.
    """

    name: str
    schemes: tuple[str, ...]
    config: type[StorageConfig]
    factory: Callable[[Any, PluginContext], Storage]
    canonical: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class FormatType:
    """A table format: `name` is what `CatalogTable.format` says."""

    name: str
    factory: Callable[[], TableFormat]


@dataclass(frozen=True, slots=True)
class AuthenticatorType:
    """A kind of authenticator."""

    name: str
    config: type[PluginConfig]
    factory: Callable[[Any, PluginContext], Authenticator]


@dataclass(frozen=True, slots=True)
class PolicyType:
    """A kind of policy."""

    name: str
    config: type[PluginConfig]
    factory: Callable[[Any, PluginContext], Policy]


@dataclass(frozen=True, slots=True)
class TaskExecutorType:
    """A kind of task executor, and the operation types that it runs.

    Attributes:
        catalogs: Returns the names of the catalogs in a section. Tasks that name another catalog run on
            the locations of their payload alone, if these are granted. Without this function, every
            catalog that a task names has to be granted to its realm.
    """

    name: str
    operations: tuple[str, ...]
    config: type[PluginConfig]
    factory: Callable[[Any, PluginContext], TaskExecutor]
    catalogs: Callable[[Any], Collection[str]] | None = None
