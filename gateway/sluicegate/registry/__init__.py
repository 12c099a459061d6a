"""Loads the enabled plugins, and builds the instances that the configuration names."""

from sluicegate.registry.installed import InstalledPlugin, installed_plugins
from sluicegate.registry.instances import Instances
from sluicegate.registry.registry import Registry
from sluicegate.registry.sections import (
    ConfiguredAuthenticator,
    ConfiguredCatalog,
    ConfiguredExecutor,
    ConfiguredInstances,
    ConfiguredStorage,
    configure,
)

__all__ = [
    "ConfiguredAuthenticator",
    "ConfiguredCatalog",
    "ConfiguredExecutor",
    "ConfiguredInstances",
    "ConfiguredStorage",
    "InstalledPlugin",
    "Instances",
    "Registry",
    "configure",
    "installed_plugins",
]
