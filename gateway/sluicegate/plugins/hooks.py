"""The typed facade of the plugins, with a method for each hook. Only this package calls pluggy."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from sluicegate.api import (
    CommandServices,
    ConsolePage,
    Event,
    GatewayServices,
)
from sluicegate.api.errors import ConfigurationError, SluicegateError
from sluicegate.config import Settings
from sluicegate.plugins.failures import failure_reason
from sluicegate.plugins.loading.host import PluginHost, wrong_result
from sluicegate.plugins.loading.installed import InstalledPlugin, find_plugin, installed_plugins
from sluicegate.plugins.registered_types import RegisteredTypes, collect_types

if TYPE_CHECKING:
    import click
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp


LIFESPAN_HOOK: Final = "sluicegate_lifespan"
log = logging.getLogger(__name__)


class PluginLifespan(AbstractAsyncContextManager[None]):
    """The lifespan that a plugin returned."""

    def __init__(self, plugin: InstalledPlugin, context: AbstractAsyncContextManager[object]) -> None:
        self._plugin = plugin
        self._context = context

    async def __aenter__(self) -> None:
        """Enter the plugin's context."""
        try:
            await self._context.__aenter__()
        except (Exception, SystemExit) as error:
            raise self._failure("starts", error) from error

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Leave the plugin's context.

        If the gateway stops because of an error, that error is raised.
        """
        try:
            return await self._context.__aexit__(kind, raised, traceback)
        except (Exception, SystemExit) as error:
            failure = self._failure("stops", error)
            if raised is None:
                raise failure from error
            if not _is_only(raised, error):
                log.warning("%s", failure.for_operators)
            return False

    def _failure(self, moment: str, error: BaseException) -> ConfigurationError:
        where = f"plugin {self._plugin} failed in {LIFESPAN_HOOK} while the gateway {moment}"
        if isinstance(error, SluicegateError):
            return ConfigurationError(f"{where}: {error.message}", detail=error.detail)
        return ConfigurationError(f"{where}: {failure_reason(error)}")


def _is_only(raised: BaseException, error: BaseException) -> bool:
    """Whether an error is the one that was raised, or a group of only it, as task groups raise."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(lambda each: each is raised)[1] is None
    return error is raised


HOOK = "sluicegate_on_event"


class Notifier:
    """Calls `on_event` of the plugins that implement it, and awaits the results in the background."""

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._listeners = tuple(plugin for plugin in host.plugins if host.implements(plugin, HOOK))
        self._running: set[asyncio.Task[None]] = set()

    def notify(self, event: Event, *, but: str | None = None) -> None:
        """Call every listening plugin, in the order of the configuration."""
        for plugin in self._listeners:
            if plugin.name == but:
                continue
            try:
                answers = self._host.ask(plugin, HOOK, event=event)
            except ConfigurationError as error:
                _log_failure(plugin, event, error.__cause__ or error)
                continue
            for awaitable in answers:
                self._start(plugin, event, awaitable)

    async def drain(self, timeout: float | None = None) -> None:
        """Wait for pending results."""
        while self._running:
            done, _ = await asyncio.wait(self._running, timeout=timeout)
            if not done:
                return

    def _start(self, plugin: InstalledPlugin, event: Event, awaitable: Awaitable[None]) -> None:
        task = asyncio.ensure_future(_finish(plugin, event, awaitable))
        self._running.add(task)
        task.add_done_callback(self._running.discard)


async def _finish(plugin: InstalledPlugin, event: Event, awaitable: Awaitable[None]) -> None:
    try:
        await awaitable
    except Exception as error:
        _log_failure(plugin, event, error)


def _log_failure(plugin: InstalledPlugin, event: Event, error: BaseException) -> None:
    # Only the type of the error: the message of a plugin's upstream can contain secrets.
    log.warning("plugin %s failed to note the event %s: %s", plugin, event.kind, type(error).__name__)


_BEHAVIOURS = {
    "sluicegate_register_routes": "routes",
    "sluicegate_register_commands": "commands",
    "sluicegate_register_migrations": "tables",
    "sluicegate_register_console_pages": "pages of the console",
    "sluicegate_wrap_app": "a wrapper of the application",
    LIFESPAN_HOOK: "a lifespan",
    "sluicegate_on_event": "a listener to events",
}

_PAGE = re.compile(r"[a-z0-9-]+")
# Some listeners complete only when their plugin's lifespan ends.
_EVENTS_SECONDS = 5.0

ServicesOf = Callable[[str], GatewayServices]
"""The services of a plugin, by its name."""


class Registry:
    """The enabled plugins of one gateway, loaded and checked.

    Args:
        plugins: The plugins to load, in the order in which they are called.

    Attributes:
        types: What the plugins register.
    """

    def __init__(self, plugins: Sequence[InstalledPlugin]) -> None:
        self._host = PluginHost(plugins)
        self.types: RegisteredTypes = collect_types(self._host)
        self._notifier = Notifier(self._host)

    @classmethod
    def load(cls, enabled: Settings | Iterable[str]) -> Self:
        """Load only the plugins that the configuration enables, or those with the given names.

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

    def routes(self, services: ServicesOf) -> list[BaseRoute]:
        """Routes that plugins add."""
        from starlette.routing import BaseRoute

        hook = "sluicegate_register_routes"
        found: list[BaseRoute] = []
        for plugin in self._implementing(hook):
            for route in self._host.ask_each(plugin, hook, services=services(plugin.name)):
                if not isinstance(route, BaseRoute):
                    raise wrong_result(plugin, hook, route, "routes of Starlette")
                found.append(route)
        return found

    def console_pages(self, services: ServicesOf) -> Mapping[str, Sequence[ConsolePage]]:
        """The pages that plugins add to the console, by the plugin's name."""
        hook = "sluicegate_register_console_pages"
        found: dict[str, Sequence[ConsolePage]] = {}
        for plugin in self._implementing(hook):
            pages = self._host.ask_each(plugin, hook, services=services(plugin.name))
            for page in pages:
                if not isinstance(page, ConsolePage):
                    raise wrong_result(plugin, hook, page, "pages")
            _check_paths(plugin, hook, pages)
            found[plugin.name] = pages
        return found

    def commands(self, cli: click.Group, services: Callable[[str], CommandServices]) -> None:
        """Add the commands of plugins."""
        for plugin in self.plugins:
            hook = "sluicegate_register_commands"
            self._host.ask(plugin, hook, cli=cli, services=services(plugin.name))

    def wrap_app(self, app: ASGIApp, services: ServicesOf) -> ASGIApp:
        """The application inside the plugins' wrappers; the first enabled plugin's is the innermost."""
        hook = "sluicegate_wrap_app"
        for plugin in self._implementing(hook):
            answers = self._host.ask(plugin, hook, app=app, services=services(plugin.name))
            # A wrapper can protect the application, so a wrapper that returns nothing is an error.
            wrapped = answers[0] if answers else None
            if not callable(wrapped):
                raise wrong_result(plugin, hook, wrapped, "an ASGI application")
            app = wrapped
        return app

    def lifespans(self, services: ServicesOf) -> list[AbstractAsyncContextManager[None]]:
        """Contexts to enter, in this order, when the gateway starts."""
        hook = LIFESPAN_HOOK
        found: list[AbstractAsyncContextManager[None]] = []
        for plugin in self._implementing(hook):
            for context in self._host.ask(plugin, hook, services=services(plugin.name)):
                if not isinstance(context, AbstractAsyncContextManager):
                    raise wrong_result(plugin, hook, context, "an asynchronous context manager")
                found.append(PluginLifespan(plugin, context))
        return found

    def notify(self, event: Event, *, but: str | None = None) -> None:
        """Send an event to the plugins. This method never raises and never waits.

        Args:
            event: The event.
            but: Name of a plugin that does not receive the event, because it published it.
        """
        self._notifier.notify(event, but=but)

    async def drain(self) -> None:
        """Wait until plugins have processed their events, but not for one that takes very long."""
        await self._notifier.drain(_EVENTS_SECONDS)

    async def aclose(self) -> None:
        """Wait until plugins have processed their events."""
        await self._notifier.drain()

    def behaviours(self) -> list[str]:
        """Descriptions of the plugins' hooks that don't register types."""
        return [
            words
            for hook, words in _BEHAVIOURS.items()
            if any(self._host.implements(plugin, hook) for plugin in self.plugins)
        ]

    def _implementing(self, hook: str) -> list[InstalledPlugin]:
        return [plugin for plugin in self.plugins if self._host.implements(plugin, hook)]


def _check_paths(plugin: InstalledPlugin, hook: str, pages: Sequence[ConsolePage]) -> None:
    paths = [page.path for page in pages]
    for path in paths:
        if path and not _PAGE.fullmatch(path):
            raise ConfigurationError(
                f"plugin {plugin}: {hook}: the path '{path}' must be spelled with a-z, 0-9 and '-'"
            )
        if paths.count(path) > 1:
            raise ConfigurationError(f"plugin {plugin}: {hook}: two pages have the path '{path}'")


def _find_enabled(settings: Settings, installed: Sequence[InstalledPlugin]) -> list[InstalledPlugin]:
    """The plugins that a configuration enables. Problems have the location of the plugin's name."""
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
