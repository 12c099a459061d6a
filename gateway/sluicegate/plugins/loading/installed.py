"""Finds installed plugins: the entry points of the group, and their distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.model import PLUGIN_GROUP
from sluicegate.config.yaml import nearest

# The gateway names no other distribution in a command: anybody can register a name on an index.
OWN_PLUGINS: Final[Mapping[str, str]] = {
    "azure": "plugins/azure",
    "cedar": "plugins/cedar",
    "file": "plugins/file",
    "gcs": "plugins/gcs",
    "iceberg": "catalog_adapters/iceberg",
    "mtls": "plugins/mtls",
    "opa": "plugins/opa",
    "paths": "catalog_adapters/paths",
    "r2": "plugins/r2",
    "s3": "plugins/s3",
    "spark": "plugins/spark",
    "unity": "catalog_adapters/unity",
}
"""Folders of the gateway's own plugins in its repository."""


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """A plugin that an installed distribution declares. Finding it doesn't import it."""

    name: str
    distribution: str
    version: str
    entry_point: EntryPoint

    def __str__(self) -> str:
        """The name of the plugin with its distribution, for messages."""
        return f"'{self.name}' ({self.distribution} {self.version})"


def installed_plugins() -> tuple[InstalledPlugin, ...]:
    """All plugins of installed distributions, sorted by name. Names can occur more than once."""
    found = (_describe(entry_point) for entry_point in entry_points(group=PLUGIN_GROUP))
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.distribution)))


def find_plugin(name: str, installed: Iterable[InstalledPlugin]) -> InstalledPlugin:
    """The installed plugin of a name."""
    known = tuple(installed)
    matches = [plugin for plugin in known if plugin.name == name]
    if not matches:
        raise ConfigurationError(f"plugin '{name}' is enabled but not installed{_remedy(name, known)}")
    if len(matches) > 1:
        owners = " and ".join(f"{plugin.distribution} {plugin.version}" for plugin in matches)
        raise ConfigurationError(f"plugin '{name}' is provided by both {owners}: uninstall one of them")
    return matches[0]


def _remedy(name: str, installed: Iterable[InstalledPlugin]) -> str:
    folder = OWN_PLUGINS.get(name)
    if folder is not None:
        return f": in a clone of the gateway's repository, run pip install ./{folder}"
    return nearest(name, sorted({plugin.name for plugin in installed} | OWN_PLUGINS.keys()))


def _describe(entry_point: EntryPoint) -> InstalledPlugin:
    distribution = entry_point.dist
    if distribution is None:
        return InstalledPlugin(entry_point.name, "an unknown distribution", "", entry_point)
    return InstalledPlugin(entry_point.name, distribution.name, distribution.version, entry_point)
