"""Replaces the gateway of a running server when its configuration has changed."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable

from sluicegate._util.service_manager import notify_ready, notify_reloading
from sluicegate.api.errors import SluicegateError
from sluicegate.config import Settings
from sluicegate.config.served_address import served_at
from sluicegate.http.serving import Tls, renew
from sluicegate.server.generation import Generation, Generations
from sluicegate.server.restart import restart_required
from sluicegate.server.watch import ConfigurationWatch
from sluicegate.telemetry import config_applied, count

log = logging.getLogger(__name__)


class Reloader:
    """Replaces the gateway, either completely or not at all."""

    def __init__(
        self,
        load: Callable[[], Settings],
        settings: Settings,
        address: tuple[str, int],
        generations: Generations,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._load = load
        self._started_with = settings
        self._address = address
        self._generations = generations
        self._tls = tls
        self._last_failure = ""
        self.watch = ConfigurationWatch(settings)

    async def run(self) -> None:
        """Reload at each request and change, until canceled."""
        while True:
            await self.watch.wait()
            await self.reload()

    async def reload(self) -> None:
        """Load the configuration and serve with it. If that fails, the log says why."""
        notify_reloading()
        try:
            await self._reload()
        finally:
            notify_ready()

    async def _reload(self) -> None:
        try:
            settings = await asyncio.to_thread(self._load)
            successor = await self._ready(settings)
        except Exception as error:
            self._report(error)
            count("sluicegate.config.reloads", outcome="failed")
            self.watch.failed()
            return
        self._generations.switch_to(successor)
        self.watch.applied(settings)
        self._last_failure = ""
        count("sluicegate.config.reloads", outcome="applied")
        config_applied()
        log.info("the configuration was reloaded")
        for warning in settings.source.warnings:
            log.warning("%s", warning)
        for name in restart_required(self._started_with, settings):
            log.warning("%s has changed, which takes effect after a restart", name)

    async def _ready(self, settings: Settings) -> Generation:
        """Return a gateway that has loaded everything it needs. No request uses it yet."""
        successor = await Generation.open(served_at(settings, *self._address))
        try:
            await successor.gateway.warm_up(is_first=False)
            if self._tls is not None and settings.server.tls is not None:
                renew(self._tls, Tls(**settings.server.tls.model_dump(), optional=True))
        except BaseException:
            await successor.aclose()
            raise
        return successor

    def _report(self, error: Exception) -> None:
        # The messages of other errors can contain secrets.
        reason = error.message if isinstance(error, SluicegateError) else type(error).__name__
        if reason != self._last_failure:
            log.error(
                "the configuration was not reloaded, and the previous one stays in use: %s", reason
            )
        self._last_failure = reason
