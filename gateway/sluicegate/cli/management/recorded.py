"""Records what commands change, before and after, as a gateway does for administrators."""

from __future__ import annotations

import getpass
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import SluicegateError
from sluicegate.audit.assembly import audit_log
from sluicegate.audit.records import AuditLog
from sluicegate.audit.request_record import request_record
from sluicegate.audit.trail import Trail, announce, in_trail
from sluicegate.config import Settings
from sluicegate.database import Store
from sluicegate.signing.load import load_keys
from sluicegate.telemetry.context import RequestInfo


class RecordedChanges:
    """Records commands before they change something, and with what they changed."""

    def __init__(self, settings: Settings, store: Store, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._store = store
        self._stack = stack
        self._log: AuditLog | None = None

    @asynccontextmanager
    async def recorded(self, action: str, scope: Mapping[str, Any]) -> AsyncIterator[None]:
        """Record a change around the block that makes it, and contributes its facts."""
        if self._settings.audit.mode == "off":
            yield
            return
        if self._log is None:
            log = audit_log(self._settings, load_keys(self._settings), self._store, lambda event: None)
            self._log = await self._stack.enter_async_context(log)
        trail = _CommandTrail(self._log, action, scope)
        with in_trail(trail):
            await announce()
            try:
                yield
            except Exception as error:
                await trail.write(error)
                raise
            await trail.write()


class _CommandTrail(Trail):
    actor_kind = "command"

    def __init__(self, log: AuditLog, action: str, scope: Mapping[str, Any]) -> None:
        self.actor = system_user()
        self._log = log
        self._action = action
        self._scope = scope

    async def announce(self) -> None:
        """Record the facts so far."""
        await self.write()

    async def write(self, error: Exception | None = None) -> None:
        """Record the facts, and the error if the request has failed."""
        request, status = None, None
        if error is not None:
            request = RequestInfo("", error=error)
            status = error.status if isinstance(error, SluicegateError) else 500
        record = request_record(self._action, self._scope, self, request, status, epoch_ms())
        record.request_id = record.status = None  # it is not a request over HTTP
        await self._log.write(record)


def system_user() -> str:
    """The user of the operating system."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container can run with an id that has no name
        return f"uid {os.getuid()}"
