"""Sends events to plugins. A plugin that fails never affects a request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

from sluicegate.api import Event
from sluicegate.api.errors import ConfigurationError
from sluicegate.plugins.loading.host import PluginHost
from sluicegate.plugins.loading.installed import InstalledPlugin

HOOK = "sluicegate_on_event"
log = logging.getLogger(__name__)


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
