"""Imports plugins and registers them with pluggy. Errors name the plugin and the cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from typing import Any

import pluggy

from sluicegate import __version__
from sluicegate.api import API_VERSION
from sluicegate.api.errors import ConfigurationError
from sluicegate.config.model import PLUGIN_GROUP
from sluicegate.plugins import hookspecs
from sluicegate.plugins.loading.installed import InstalledPlugin

NAME = "sluicegate_api_version"
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")


def declared_version(entry_point: EntryPoint) -> object:
    """Return the constant `sluicegate_api_version` of a plugin's module without running the module.

    A plugin for a newer API usually fails to import, so the constant is read from the source.

    Returns:
        The constant, or `None` if the module has none or its source cannot be read.
    """
    try:
        # Imports the parent packages of the module, which plugins keep empty.
        spec = find_spec(entry_point.module)
        source = getattr(spec and spec.loader, "get_source", lambda name: None)(entry_point.module)
        body = ast.parse(source or "").body
    except Exception:
        return None  # importing the module also fails, and reports why
    for statement in body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if NAME in names and isinstance(value, ast.Constant):
            return value.value
    return None


def check_version(plugin: InstalledPlugin, declared: object) -> None:
    """Check that this gateway supports the API version that a plugin is written for."""
    wanted = _parsed("1.0" if declared is None else declared)
    if wanted is None:
        raise ConfigurationError(
            f"plugin {plugin}: {NAME} must be a text such as '{API_VERSION}', not {declared!r}"
        )
    offered = _parsed(API_VERSION)
    assert offered is not None  # noqa: S101 (a constant of this package)
    if wanted > offered:
        raise ConfigurationError(
            f"plugin {plugin} needs the plugin API {declared}, and this gateway (sluicegate "
            f"{__version__}) offers {API_VERSION}: upgrade sluicegate, or install an "
            f"older version of {plugin.distribution}"
        )
    if wanted[0] < offered[0]:
        raise ConfigurationError(
            f"plugin {plugin} is written for the plugin API {wanted[0]}.{wanted[1]}, and this gateway "
            f"(sluicegate {__version__}) offers {API_VERSION}: upgrade "
            f"{plugin.distribution}, or install an older version of sluicegate"
        )


def import_hint(plugin: InstalledPlugin, error: BaseException) -> str:
    """Return a hint for a plugin that imports a name that the API lacks; empty for other errors."""
    module = getattr(error, "name", None) if isinstance(error, ImportError) else None
    if module is None or module.partition(".")[0] != "sluicegate":
        return ""
    return (
        f"; it imports a name that the plugin API {API_VERSION} of this gateway does not have: "
        f"upgrade sluicegate and {plugin.distribution} to versions that belong together"
    )


def _parsed(version: object) -> tuple[int, int] | None:
    found = _VERSION.fullmatch(version) if isinstance(version, str) else None
    return None if found is None else (int(found[1]), int(found[2]))


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
