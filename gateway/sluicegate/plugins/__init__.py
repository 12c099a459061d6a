"""Loads the enabled plugins, and builds the instances that the configuration names."""

from sluicegate.plugins.checks.sections import configure
from sluicegate.plugins.configured import (
    ConfiguredAuthenticator,
    ConfiguredCatalog,
    ConfiguredExecutor,
    ConfiguredInstances,
    ConfiguredStorage,
)
from sluicegate.plugins.hooks import Registry
from sluicegate.plugins.instances import Instances
from sluicegate.plugins.loading.installed import InstalledPlugin, installed_plugins

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
