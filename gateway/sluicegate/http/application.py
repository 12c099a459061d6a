"""Starlette's application, with a single error-handling layer instead of its two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.api.errors import SluicegateError
from sluicegate.http.ended_requests import ended_request, resume_ended
from sluicegate.http.responses import as_sluicegate_error, error_response
from sluicegate.http.routing import IndexedRouter


class Application(Starlette):
    """Returns every error as JSON.

    Each of Starlette's own layers would wrap every message of a response in another coroutine. They
    would also report it as an unexpected error if a response can't be sent.

    Args:
        routes: The routes.
        refused: Builds the response for an error.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute] = (),
        refused: Callable[[SluicegateError], Response] = error_response,
    ) -> None:
        super().__init__()
        self.router = IndexedRouter(routes)
        self._refused = refused

    def build_middleware_stack(self) -> ASGIApp:
        """The router inside the error-handling layer. No other middleware can be added."""
        return _AnsweredErrors(self.router, self._refused)


class _AnsweredErrors:
    def __init__(self, app: ASGIApp, refused: Callable[[SluicegateError], Response]) -> None:
        self._app = app
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        def noting(message: Message) -> Awaitable[None]:
            nonlocal started
            started = True
            return send(message)

        try:
            await self._app(scope, receive, noting)
        except asyncio.CancelledError:
            if started or not resume_ended(scope):
                raise
            await self._refused(ended_request())(scope, receive, send)
        except Exception as error:  # whatever the error, the client gets a response
            response = self._refused(as_sluicegate_error(error))
            if not started:
                await response(scope, receive, send)
            if started or not isinstance(error, HTTPException | SluicegateError):
                raise
