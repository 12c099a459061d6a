"""The instances in the configuration, with their validated sections."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from sluicegate.api import (
    AuthenticatorType,
    CatalogConfig,
    CatalogType,
    PluginConfig,
    PolicyType,
    StorageConfig,
    StorageType,
    TaskExecutorType,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConfiguredCatalog:
    """An entry of `catalogs:`, checked."""

    name: str
    type: CatalogType
    config: CatalogConfig


@dataclass(frozen=True, slots=True)
class ConfiguredStorage:
    """An entry of `storage:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type: `s3-1`. Storage that is added at
            the end of the list changes no names, so links that contain a name stay valid.
        config: The section, with locations in canonical form with a trailing slash.
    """

    name: str
    type: StorageType
    config: StorageConfig


@dataclass(frozen=True, slots=True)
class ConfiguredAuthenticator:
    """An entry of `authentication.authenticators:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type.
    """

    name: str
    type: AuthenticatorType
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class ConfiguredPolicy:
    """An entry of `policies:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type.
    """

    name: str
    type: PolicyType
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class ConfiguredExecutor:
    """An entry of `delegation.executors:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type.
    """

    name: str
    type: TaskExecutorType
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class ConfiguredInstances:
    """All instances in the configuration.

    Attributes:
        plugins: The settings of plugins that register a model for them, by the plugin's name.
        warnings: A line `file:line:column: message` for each removed key in a section of a plugin.
    """

    catalogs: tuple[ConfiguredCatalog, ...]
    storage: tuple[ConfiguredStorage, ...]
    authenticators: tuple[ConfiguredAuthenticator, ...]
    policies: tuple[ConfiguredPolicy, ...] = ()
    executors: tuple[ConfiguredExecutor, ...] = ()
    plugins: Mapping[str, PluginConfig] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def log_warnings(self) -> None:
        """Log each warning. Commands that are not services leave them to `config check`."""
        for warning in self.warnings:
            log.warning("%s", warning)

    @property
    def operations(self) -> frozenset[str]:
        """The operations that the task executors run."""
        return frozenset(operation for each in self.executors for operation in each.type.operations)
