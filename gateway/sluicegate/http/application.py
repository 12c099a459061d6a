"""Starlette's application, with one layer that answers errors in place of its two."""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.errors import SluicegateError
from sluicegate.http.responses import as_sluicegate_error, error_response


class Application(Starlette):
    """Answers every error as JSON.

    Starlette's own layers would each surround every message of a response with another coroutine.
    """

    def build_middleware_stack(self) -> ASGIApp:
        """The router inside the layer; no middleware can be added."""
        return _AnsweredErrors(self.router)


class _AnsweredErrors:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        def noting(message: Message) -> Awaitable[None]:
            nonlocal started
            started = True
            return send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:  # whatever it is, the client gets an answer
            response = error_response(as_sluicegate_error(error))
            if not started:
                await response(scope, receive, send)
            if started or not isinstance(error, HTTPException | SluicegateError):
                raise
