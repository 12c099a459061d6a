"""Lifespans of plugins, whose errors name the plugin."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final

from sluicegate.api.errors import ConfigurationError, SluicegateError
from sluicegate.plugins.failures import failure_reason
from sluicegate.plugins.loading.installed import InstalledPlugin

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
