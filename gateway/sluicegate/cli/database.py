"""Opens the configured database for commands, also for those of plugins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sluicegate.api.errors import ConfigurationError, Unavailable
from sluicegate.cli.context import run_async

if TYPE_CHECKING:
    from sluicegate.api import PluginDatabase
    from sluicegate.config import Settings
    from sluicegate.database import Store
    from sluicegate.plugins import Registry

T = TypeVar("T")


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """Open the configured database. Errors contain the details that recipients never see."""
    from sluicegate.database import Store

    store = await Store.open(settings.database.get_secret_value())
    try:
        yield store
    except Unavailable as error:
        raise ConfigurationError(f"the database failed: {error.detail or error.message}") from error
    finally:
        await store.aclose()


class PluginCommands:
    """The `api.CommandServices` of one plugin."""

    def __init__(self, name: str, settings: Settings, registry: Registry) -> None:
        self.name = name
        self._settings = settings
        self._registry = registry

    @cached_property
    def settings(self) -> Any:
        """The plugin's settings."""
        from sluicegate.plugins.checks.sections import plugin_settings

        return plugin_settings(self._settings, self._registry).get(self.name)

    def run(self, job: Callable[[PluginDatabase], Awaitable[T]]) -> T:
        """Run a job over the configured database."""
        from sluicegate.database import PluginConnections

        migrations = self._registry.types.migrations
        own = {name: found for name, found in migrations.items() if name == self.name}

        async def opened() -> T:
            async with open_store(self._settings) as store:
                await store.migrate_plugins(own)
                return await job(PluginConnections(store))

        return run_async(opened())
