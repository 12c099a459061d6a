"""Starlette's application, with a single error-handling layer instead of its two."""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.api.errors import SluicegateError
from sluicegate.http.responses import as_sluicegate_error, error_response


class Application(Starlette):
    """Returns every error as JSON.

    Each of Starlette's own layers would wrap every message of a response in another coroutine.
    """

    def build_middleware_stack(self) -> ASGIApp:
        """The router inside the error-handling layer. No other middleware can be added."""
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
        except Exception as error:  # whatever the error, the client gets a response
            response = error_response(as_sluicegate_error(error))
            if not started:
                await response(scope, receive, send)
            if started or not isinstance(error, HTTPException | SluicegateError):
                raise
