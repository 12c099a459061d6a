"""Starlette's application, with an indexed router, and one layer that handles errors instead of two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import FloatConvertor, IntegerConvertor, StringConvertor, UUIDConvertor
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.api.errors import SluicegateError
from sluicegate.http.ended_requests import ended_request, resume_ended
from sluicegate.http.responses import as_sluicegate_error, error_response

# A parameter with one of these matches exactly one segment of a path.
_OF_ONE_SEGMENT = (FloatConvertor, IntegerConvertor, StringConvertor, UUIDConvertor)


class IndexedRouter(Router):
    """Serves a request by the first route that matches its path and method.

    Only routes whose first and last segment and number of segments can match are tried. Requests that
    none of them serves get the responses of Starlette's router, such as 404 and 405. Paths are not
    redirected to others with or without a slash at the end.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        super().__init__(routes=routes, redirect_slashes=False)
        self._index = RouteIndex(self.routes)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            for route in self._index.candidates(scope):
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.setdefault("router", self)
                    scope["route"] = route
                    scope.update(found)
                    await route.handle(scope, receive, send)
                    return
        await super().app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a route's template says about paths; `None` is anything."""

    first: str | None = None
    last: str | None = None
    segments: int | None = None

    @classmethod
    def of(cls, route: BaseRoute) -> _Shape:
        if type(route) is not Route:
            return cls()
        segments = route.path.split("/")
        is_fixed = all(isinstance(each, _OF_ONE_SEGMENT) for each in route.param_convertors.values())
        return cls(_literal(segments[1]), _literal(segments[-1]), len(segments) if is_fixed else None)

    def fits(self, first: str | None, last: str | None, segments: int) -> bool:
        return (
            self.first in (None, first)
            and self.last in (None, last)
            and self.segments in (None, segments)
        )


class RouteIndex:
    """Finds the routes that can match a path."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = routes
        self._shaped = [(_Shape.of(route), route) for route in routes]
        shapes = [shape for shape, _ in self._shaped]
        self._firsts = {shape.first for shape in shapes}
        self._lasts = {shape.last for shape in shapes}
        self._longest = max((shape.segments or 0 for shape in shapes), default=0)
        self._found: dict[Any, Sequence[BaseRoute]] = {}

    def candidates(self, scope: Mapping[str, Any]) -> Sequence[BaseRoute]:
        """Return the routes that can match the path of a request, in order."""
        # With a root path, Starlette decides which part of the path its routes match.
        if scope.get("root_path"):
            return self._routes
        segments = scope["path"].split("/")
        first, last = segments[1] if len(segments) > 1 else None, segments[-1]
        # Clients choose paths: only what routes contain becomes a key, so that there are few keys.
        key = (
            first if first in self._firsts else None,
            last if last in self._lasts else None,
            min(len(segments), self._longest + 1),
        )
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = [route for shape, route in self._shaped if shape.fits(*key)]
        return found


def _literal(segment: str) -> str | None:
    return None if "{" in segment or "}" in segment else segment


class Application(Starlette):
    """Returns every error as JSON.

    Each of Starlette's own layers would wrap every message of a response in another coroutine. They
    would also report it as an unexpected error if a response can't be sent.
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
