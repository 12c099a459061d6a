"""The instances in the configuration, with their validated sections."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

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

_Type = TypeVar("_Type")
_Config = TypeVar("_Config", bound=PluginConfig)


@dataclass(frozen=True)  # with slots, calling the aliases below would fail in Python 3.11
class Configured(Generic[_Type, _Config]):
    """An entry of the configuration, checked."""

    name: str
    type: _Type
    config: _Config


ConfiguredCatalog: TypeAlias = Configured[CatalogType, CatalogConfig]
ConfiguredStorage: TypeAlias = Configured[StorageType, StorageConfig]
ConfiguredAuthenticator: TypeAlias = Configured[AuthenticatorType, PluginConfig]
ConfiguredPolicy: TypeAlias = Configured[PolicyType, PluginConfig]
ConfiguredExecutor: TypeAlias = Configured[TaskExecutorType, PluginConfig]


@dataclass(frozen=True, slots=True)
class ConfiguredInstances:
    """All instances in the configuration."""

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
