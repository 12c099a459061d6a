"""ASGI middleware that records each request before its response starts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import SluicegateError, Unavailable
from sluicegate.audit.request_record import request_record
from sluicegate.audit.trail import Trail, enter_trail
from sluicegate.http.ended_requests import ended_request, resume_ended
from sluicegate.http.responses import log_error
from sluicegate.telemetry.context import current_request, note_error

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sluicegate.audit.actions import RequestActions
    from sluicegate.audit.records import AuditLog


log = logging.getLogger(__name__)


class AuditTrail:
    """Wraps an application, so that no response starts before its record is stored.

    If the record can't be stored, the client gets status 503, and nothing of the response that was
    prepared. The application then gets an error from `send`, as if the client had disconnected.
    """

    def __init__(
        self,
        app: ASGIApp,
        log: AuditLog,
        actions: RequestActions,
        refuse: Callable[[str, SluicegateError], Response],
        *,
        unrecorded: Collection[str] = (),
        clock: Callable[[], int] = epoch_ms,
    ) -> None:
        self._app = app
        self.log = log
        self.actions = actions
        self.refuse = refuse
        self.clock = clock
        self._unrecorded = frozenset(unrecorded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope. Only HTTP requests are recorded."""
        if scope["type"] != "http" or scope["path"] in self._unrecorded:
            await self._app(scope, receive, send)
            return
        held = _HeldResponse(self, scope, receive, send)
        enter_trail(held)
        try:
            await self._app(scope, receive, held.send)
        except asyncio.CancelledError:
            if held.recorded or not resume_ended(scope):
                raise
            await held.respond(ended_request())
        except Exception:
            if held.refusal is not None:
                held.log_refusal()
                return
            if not held.recorded and not await held.record_failure():
                return
            raise  # the server responds with status 500


class _HeldResponse(Trail):
    """The response to one request, held back until its record is stored."""

    recorded = False
    refusal: SluicegateError | None = None

    def __init__(self, audit: AuditTrail, scope: Scope, receive: Receive, send: Send) -> None:
        self._audit = audit
        self._scope = scope
        self._receive = receive
        self._send = send

    def send(self, message: Message) -> Awaitable[None]:
        """Pass a message of the response on. The first waits until the record is stored."""
        # Not a coroutine itself: each part of a long response would run one more.
        return self._send(message) if self.recorded else self._start(message)

    async def announce(self) -> None:
        """Record the facts so far, without a status."""
        await self._write(None)

    async def record_failure(self) -> bool:
        """Record an error that nothing handled. Returns whether the server can respond to it."""
        await self._record(500)
        self.log_refusal()
        return self.recorded

    async def respond(self, error: SluicegateError) -> None:
        """Record and send an error instead of the response, which still waited for its record."""
        note_error(error)
        try:
            await self._write(error.status)
        except Unavailable as unrecorded:
            error = unrecorded
        await self._refuse(error)
        self.log_refusal()

    def log_refusal(self) -> None:
        """Log why the client got no response, unless the application has done so."""
        request = current_request()
        if self.refusal is not None and (request is None or request.error is not self.refusal):
            log_error(self.refusal)

    async def _start(self, message: Message) -> None:
        if self.refusal is None:
            await self._record(message.get("status"))
        if self.refusal is not None:
            raise self.refusal
        await self._send(message)

    async def _record(self, status: int | None) -> None:
        """Store the record of the response, or send an error instead of it."""
        if self.repeats and status is not None and status < 400:
            self.recorded = True
            return
        try:
            await self._write(status)
        except Unavailable as error:
            await self._refuse(error)
        else:
            self.recorded = True

    async def _write(self, status: int | None) -> None:
        audit, request = self._audit, current_request()
        try:
            if not audit.actions.loaded:
                await audit.actions.load()
            action = audit.actions.of(self._scope)
            record = request_record(action, self._scope, self, request, status, audit.clock())
            await audit.log.write(record)
        except Unavailable:
            raise
        except Exception as error:  # whatever the error, an unrecorded response must not leave
            log.exception("a request cannot be recorded")
            raise Unavailable(
                "the request cannot be recorded now; try again later", detail=type(error).__name__
            ) from error

    async def _refuse(self, error: SluicegateError) -> None:
        self.refusal = error
        response = self._audit.refuse(self._scope["path"], error)
        await response(self._scope, self._receive, self._send)
