"""Reports which plugins are installed and enabled, what they provide, and which are broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sluicegate.api.errors import ConfigurationError
from sluicegate.plugins.hooks import Registry
from sluicegate.plugins.loading.installed import InstalledPlugin, find_plugin, installed_plugins


@dataclass(frozen=True, slots=True)
class PluginReport:
    """A plugin that is installed or enabled.

    Attributes:
        provides: Descriptions of what it registers; empty if it cannot be loaded.
        problem: Why it cannot be loaded, or `None`.
    """

    name: str
    distribution: str | None
    version: str | None
    enabled: bool
    provides: tuple[str, ...] = ()
    problem: str | None = None


def report_plugins(enabled: Iterable[str]) -> list[PluginReport]:
    """All plugins that are installed or enabled, by name. Each is loaded separately."""
    wanted = set(enabled)
    installed = installed_plugins()
    missing = wanted - {plugin.name for plugin in installed}
    reports = [
        *(_report(plugin, installed, enabled=plugin.name in wanted) for plugin in installed),
        *(_missing(name, installed) for name in missing),
    ]
    return sorted(reports, key=lambda report: report.name)


def load_installed() -> list[Registry]:
    """Load each installed plugin into a separate registry. Broken plugins are left out."""
    return [registry for registry in map(_load, installed_plugins()) if isinstance(registry, Registry)]


def _load(plugin: InstalledPlugin) -> Registry | ConfigurationError:
    try:
        return Registry([plugin])
    except ConfigurationError as error:
        return error


def _report(
    plugin: InstalledPlugin, installed: Iterable[InstalledPlugin], *, enabled: bool
) -> PluginReport:
    provides: tuple[str, ...] = ()
    problem = _ambiguity(plugin.name, installed)
    if problem is None:
        registry = _load(plugin)
        if isinstance(registry, Registry):
            provides = tuple(_provided(registry))
        else:
            problem = registry.message
    return PluginReport(plugin.name, plugin.distribution, plugin.version, enabled, provides, problem)


def _missing(name: str, installed: Iterable[InstalledPlugin]) -> PluginReport:
    return PluginReport(name, None, None, True, problem=_ambiguity(name, installed))


def _ambiguity(name: str, installed: Iterable[InstalledPlugin]) -> str | None:
    try:
        find_plugin(name, installed)
    except ConfigurationError as error:
        return error.message
    return None


def _provided(registry: Registry) -> Iterator[str]:
    yield from (f"catalog {name}" for name in registry.types.catalogs)
    for name, storage in registry.types.storage.items():
        yield f"storage {name} ({', '.join(f'{scheme}://' for scheme in storage.schemes)})"
    yield from (f"format {name}" for name in registry.types.formats)
    yield from (f"authenticator {name}" for name in registry.types.authenticators)
    yield from (f"policy {name}" for name in registry.types.policies)
    yield from (f"task executor {name}" for name in registry.types.task_executors)
    yield from (f"token binding {name}" for name in registry.types.token_bindings)
    yield from (f"capability {name}" for name in registry.types.capabilities)
    yield from registry.behaviours()
