"""Imports plugins and registers them with pluggy. Errors name the plugin and the cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pluggy

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.load import PLUGIN_GROUP
from sluicegate.plugins import hookspecs
from sluicegate.plugins.loading.api_version import NAME, check_version, declared_version, import_hint
from sluicegate.plugins.loading.installed import InstalledPlugin

_OWN_EVENTS = "issued"  # events of plugins begin with the plugin's name, and the gateway's with this


class PluginHost:
    """The loaded plugins, in the order of the configuration, and calls to one hook of one plugin.

    The calls of pluggy return the results of all plugins, last first. The gateway needs to know which
    plugin a result is from, in the order of the configuration.
    """

    def __init__(self, plugins: Sequence[InstalledPlugin]) -> None:
        self.plugins = tuple(plugins)
        self._manager = pluggy.PluginManager(PLUGIN_GROUP)
        self._manager.add_hookspecs(hookspecs)
        self._modules = {plugin.name: self._register(plugin) for plugin in self.plugins}

    def ask(self, plugin: InstalledPlugin, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook of one plugin, and return its results: none if it doesn't implement the hook."""
        own = self._modules[plugin.name]
        others = [module for module in self._modules.values() if module is not own]
        caller = self._manager.subset_hook_caller(hook, others)
        try:
            return list(caller(**arguments))
        except ConfigurationError:
            raise
        except (Exception, SystemExit) as error:
            raise ConfigurationError(f"plugin {plugin} failed in {hook}: {_cause(error)}") from error

    def ask_each(self, plugin: InstalledPlugin, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook that returns a sequence, and return the items."""
        items: list[Any] = []
        for answer in self.ask(plugin, hook, **arguments):
            if not isinstance(answer, Iterable):
                raise wrong_result(plugin, hook, answer, "a list")
            items.extend(answer)
        return items

    def implements(self, plugin: InstalledPlugin, hook: str) -> bool:
        """Whether the plugin implements the hook."""
        callers = self._manager.get_hookcallers(self._modules[plugin.name]) or []
        return any(caller.name == hook for caller in callers)

    def _register(self, plugin: InstalledPlugin) -> Any:
        if plugin.name.partition(".")[0] == _OWN_EVENTS:
            raise ConfigurationError(
                f"plugin {plugin}: no plugin can be called '{_OWN_EVENTS}', as the gateway's "
                "own events are"
            )
        declared = declared_version(plugin.entry_point)
        check_version(plugin, declared)
        try:
            module = plugin.entry_point.load()
        except (Exception, SystemExit) as error:
            cause = _cause(error) + import_hint(plugin, error)
            raise ConfigurationError(f"plugin {plugin} cannot be imported: {cause}") from error
        # Again, because a module can compute its constant, or assign it more than once.
        check_version(plugin, getattr(module, NAME, declared))
        try:
            self._manager.register(module, name=plugin.name)
            self._manager.check_pending()
        except (ValueError, pluggy.PluginValidationError) as error:
            cause, last_line = _cause(error), str(error).splitlines()[-1]
            # About arguments that a hook does not have, the last line says which.
            more = "" if cause.endswith(last_line) else f": {last_line}"
            raise ConfigurationError(
                f"plugin {plugin} does not fit this gateway: {cause}{more}"
            ) from error
        return module


def wrong_result(
    plugin: InstalledPlugin, hook: str, answer: object, expected: str
) -> ConfigurationError:
    """The error for a hook that returns something else than it should."""
    return ConfigurationError(
        f"plugin {plugin}: {hook} must return {expected}, not {type(answer).__name__}"
    )


def _cause(error: BaseException) -> str:
    first_line = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
