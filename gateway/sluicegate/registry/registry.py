"""The typed façade over the plugins: one method a hook. Nothing else calls pluggy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Self

from sluicegate.api import (
    AuthenticatorType,
    CatalogType,
    Event,
    FormatType,
    PolicyType,
    StorageType,
    TaskExecutorType,
    TokenBinding,
)
from sluicegate.config import Settings
from sluicegate.errors import ConfigurationError
from sluicegate.registry.events import Notifier
from sluicegate.registry.installed import InstalledPlugin, find_plugin, installed_plugins
from sluicegate.registry.loading import PluginHost
from sluicegate.registry.types import RegisteredTypes, collect_types

if TYPE_CHECKING:
    import click
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from sluicegate.app import Gateway

_BEHAVIOURS = {
    "sluicegate_register_routes": "routes",
    "sluicegate_register_commands": "commands",
    "sluicegate_wrap_app": "a wrapper of the application",
    "sluicegate_lifespan": "a lifespan",
    "sluicegate_on_event": "a listener to events",
}


class Registry:
    """The enabled plugins of one gateway, loaded and checked.

    Args:
        plugins: The plugins to load, in the order in which they are asked.
    """

    def __init__(self, plugins: Sequence[InstalledPlugin]) -> None:
        self._host = PluginHost(plugins)
        self._types: RegisteredTypes = collect_types(self._host)
        self._notifier = Notifier(self._host)

    @classmethod
    def load(cls, enabled: Settings | Iterable[str]) -> Self:
        """Load the plugins that the configuration enables, or those of the given names, and no other.

        Raises:
            ConfigurationError: A plugin is not installed, is installed twice, cannot be imported,
                does not fit the hooks, or registers what another one registers.
        """
        installed = installed_plugins()
        if isinstance(enabled, Settings):
            return cls(_find_enabled(enabled, installed))
        return cls([find_plugin(name, installed) for name in dict.fromkeys(enabled)])

    @property
    def plugins(self) -> tuple[InstalledPlugin, ...]:
        """The loaded plugins, in the order of the configuration."""
        return self._host.plugins

    def catalog_types(self) -> Mapping[str, CatalogType]:
        """Kinds of catalogs, by `type`."""
        return self._types.catalogs

    def storage_types(self) -> Mapping[str, StorageType]:
        """Kinds of storage, by `type`."""
        return self._types.storage

    def format_types(self) -> Mapping[str, FormatType]:
        """Table formats beside the gateway's own, by the name that tables carry."""
        return self._types.formats

    def authenticator_types(self) -> Mapping[str, AuthenticatorType]:
        """Kinds of authenticators, by `type`."""
        return self._types.authenticators

    def policy_types(self) -> Mapping[str, PolicyType]:
        """Kinds of policies, by `type`."""
        return self._types.policies

    def task_executor_types(self) -> Mapping[str, TaskExecutorType]:
        """Kinds of task executors, by `type`."""
        return self._types.task_executors

    def token_bindings(self) -> Mapping[str, TokenBinding]:
        """Bindings of delegation tokens beside the gateway's own, by name."""
        return self._types.token_bindings

    def capabilities(self) -> Mapping[str, str]:
        """What plugins add to the capabilities header of answers."""
        return self._types.capabilities

    def routes(self, gateway: Gateway) -> list[BaseRoute]:
        """Routes that plugins serve beside the gateway's own."""
        answers = self._ask_all("sluicegate_register_routes", gateway=gateway)
        return [route for routes in answers for route in routes]

    def commands(self, cli: click.Group) -> None:
        """Let plugins add their commands."""
        self._ask_all("sluicegate_register_commands", cli=cli)

    def wrap_app(self, app: ASGIApp, config: Mapping[str, Any]) -> ASGIApp:
        """The application inside the plugins' wrappers; the first enabled plugin's is the innermost."""
        for plugin in self.plugins:
            for wrapped in self._host.ask(plugin, "sluicegate_wrap_app", app=app, config=config):
                app = wrapped
        return app

    def lifespans(self, gateway: Gateway) -> list[AbstractAsyncContextManager[None]]:
        """Contexts to enter, in this order, when the gateway starts."""
        return self._ask_all("sluicegate_lifespan", gateway=gateway)

    def notify(self, event: Event) -> None:
        """Tell the plugins that something happened; never raises and never waits."""
        self._notifier.notify(event)

    async def aclose(self) -> None:
        """Wait for what plugins still do about events."""
        await self._notifier.drain()

    def behaviours(self) -> list[str]:
        """What the plugins do beside registering types, in words."""
        return [
            words
            for hook, words in _BEHAVIOURS.items()
            if any(self._host.implements(plugin, hook) for plugin in self.plugins)
        ]

    def _ask_all(self, hook: str, **arguments: Any) -> list[Any]:
        return [
            answer for plugin in self.plugins for answer in self._host.ask(plugin, hook, **arguments)
        ]


def _find_enabled(settings: Settings, installed: Sequence[InstalledPlugin]) -> list[InstalledPlugin]:
    """The plugins that a configuration enables; a problem is told where the plugin is named."""
    found: list[InstalledPlugin] = []
    problems: list[str] = []
    for name, location in settings.mentions().items():
        try:
            found.append(find_plugin(name, installed))
        except ConfigurationError as error:
            problems.append(settings.problem(location, error.message))
    if problems:
        raise ConfigurationError("\n".join(problems))
    return found
