"""Imports plugins and hands them to pluggy; what cannot be loaded is refused by name and cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pluggy

from sluicegate import hookspecs
from sluicegate.errors import ConfigurationError
from sluicegate.registry.installed import GROUP, InstalledPlugin

T = TypeVar("T")


class PluginHost:
    """The loaded plugins, in the order of the configuration, and calls to one hook of one plugin.

    pluggy's own calls mix the answers of all plugins, last first; the gateway wants to know whose
    answer it is, in the order that the operator wrote.
    """

    def __init__(self, plugins: Sequence[InstalledPlugin]) -> None:
        self.plugins = tuple(plugins)
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        self._modules = {plugin.name: self._register(plugin) for plugin in self.plugins}

    def ask(self, plugin: InstalledPlugin, hook: str, **arguments: Any) -> list[Any]:
        """The answers of one plugin to one hook: empty where it does not implement it.

        Raises:
            ConfigurationError: The implementation failed.
        """
        own = self._modules[plugin.name]
        others = [module for module in self._modules.values() if module is not own]
        caller = self._manager.subset_hook_caller(hook, others)
        try:
            return list(caller(**arguments))
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(f"plugin {plugin} failed in {hook}: {_cause(error)}") from error

    def implements(self, plugin: InstalledPlugin, hook: str) -> bool:
        """Whether the plugin implements the hook."""
        callers = self._manager.get_hookcallers(self._modules[plugin.name]) or []
        return any(caller.name == hook for caller in callers)

    def _register(self, plugin: InstalledPlugin) -> Any:
        try:
            module = plugin.entry_point.load()
        except Exception as error:
            raise ConfigurationError(f"plugin {plugin} cannot be imported: {_cause(error)}") from error
        try:
            self._manager.register(module, name=plugin.name)
            self._manager.check_pending()
        except (ValueError, pluggy.PluginValidationError) as error:
            raise ConfigurationError(
                f"plugin {plugin} does not fit this gateway: {_cause(error)}"
            ) from error
        return module


def _cause(error: Exception) -> str:
    first_line = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
