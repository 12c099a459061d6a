"""Serves the pages of the console: finds the session, checks the role and forms, shows errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from sluicegate.admin.authentication import AdminAuthentication
from sluicegate.admin.call import count_request
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.rendering import PREFIX
from sluicegate.admin.console.responses import Pages
from sluicegate.admin.console.sessions.forms import FIELD, Form, check_origin, read_form
from sluicegate.admin.console.sessions.service import Session, Sessions
from sluicegate.admin.identity import Role
from sluicegate.api.errors import MethodNotAllowed, NotFound, PermissionDenied
from sluicegate.audit.trail import announce
from sluicegate.http.responses import as_sluicegate_error

log = logging.getLogger(__name__)

_READS = ("GET", "HEAD")
_FORM_BYTES = 65_536
Handler = Callable[[ConsoleCall], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ConsoleRoute:
    """A page or a form, and who can use it.

    Attributes:
        max_form: Maximum length of the form in bytes.
    """

    method: str
    path: str
    handler: Handler
    role: Role = "viewer"
    all_shares: bool = False
    max_form: int = _FORM_BYTES


class PageGroup(Protocol):
    """Pages that belong together."""

    def routes(self) -> Iterable[ConsoleRoute]:
        """Their routes."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What is checked before a page is shown."""

    authentication: AdminAuthentication
    sessions: Sessions
    pages: Pages
    public_url: str

    def check_sender(self, request: Request) -> None:
        """Check where a request comes from, before anything is read."""
        self.authentication.check_address(request.client and request.client.host)
        if request.method not in _READS:
            check_origin(request, self.public_url)

    async def session(self, request: Request) -> Session | None:
        """The session of a request, or `None`."""
        cookie = self.pages.cookies.read(request, "session")
        return None if cookie is None else await self.sessions.find(cookie)


class PageEndpoint:
    """The ASGI endpoint of a path, with a route for each of its methods."""

    def __init__(self, routes: Mapping[str, ConsoleRoute], guard: Guard) -> None:
        self.routes = routes
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        session: Session | None = None
        try:
            self._guard.check_sender(request)
            session = await self._guard.session(request)
            response = await self._respond(request, session)
        except Exception as error:
            response = self._guard.pages.refusal(request, as_sluicegate_error(error), session)
        await response(scope, receive, send)

    async def _respond(self, request: Request, session: Session | None) -> Response:
        if session is None:
            return self._login(request)
        await count_request(request, session.admin)
        method = "GET" if request.method == "HEAD" else request.method
        route = self.routes.get(method)
        if route is None:
            raise MethodNotAllowed(", ".join(self.routes))
        session.admin.check_role(route.role)
        if route.all_shares:
            session.admin.check_all_shares()
        form = Form([])
        if method not in _READS:
            form = await read_form(request, route.max_form)
            self._guard.pages.tokens.check(form.text(FIELD), session.digest)
            await announce()
            admin = session.admin
            log.info("%s '%s': %s %s", admin.role, admin.name, method, request.url.path)
        return await route.handler(ConsoleCall(request, session, form, self._guard.pages))

    def _login(self, request: Request) -> Response:
        if request.method not in _READS:
            raise PermissionDenied("you are not logged in, or your session has ended: log in again")
        query = f"?{request.url.query}" if request.url.query else ""
        below = request.url.path.partition(PREFIX)[2]
        wanted = self._guard.pages.url(*below.split("/")) + query
        return self._guard.pages.redirect(self._guard.pages.url("login", next=wanted))


def starlette_routes(routes: Iterable[ConsoleRoute], guard: Guard) -> list[BaseRoute]:
    """The routes of pages, one for each path, and at last one for unknown paths."""
    paths: dict[str, dict[str, ConsoleRoute]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = route
    unknown = ConsoleRoute("GET", "/{rest:path}", _unknown)
    paths[unknown.path] = {"GET": unknown}
    return [Route(PREFIX + path, PageEndpoint(found, guard)) for path, found in paths.items()]


async def _unknown(call: ConsoleCall) -> Response:
    raise NotFound("the console has no such page")
