"""Tells plugins what happened. A plugin that fails at it never disturbs a request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

from sluicegate.api import Event
from sluicegate.errors import ConfigurationError
from sluicegate.registry.installed import InstalledPlugin
from sluicegate.registry.loading import PluginHost

HOOK = "sluicegate_on_event"
log = logging.getLogger(__name__)


class Notifier:
    """Calls `on_event` of the plugins that implement it, and awaits their answers in the background."""

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._listeners = tuple(plugin for plugin in host.plugins if host.implements(plugin, HOOK))
        self._running: set[asyncio.Task[None]] = set()

    def notify(self, event: Event) -> None:
        """Tell every listening plugin, in the order of the configuration."""
        for plugin in self._listeners:
            try:
                answers = self._host.ask(plugin, HOOK, event=event)
            except ConfigurationError as error:
                _log_failure(plugin, event, error.__cause__ or error)
                continue
            for awaitable in answers:
                self._start(plugin, event, awaitable)

    async def drain(self) -> None:
        """Wait for the answers that are still awaited."""
        while self._running:
            await asyncio.gather(*self._running)

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
    # Only the kind of the error: what a plugin's upstream says may hold its secrets.
    log.warning("plugin %s failed to note the event %s: %s", plugin, event.kind, type(error).__name__)
