"""Serves the routes of the Admin API: authenticates, checks the role, and returns errors as JSON."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sluicegate import __version__
from sluicegate.admin.authentication import AdminAuthentication
from sluicegate.admin.call import AdminCall, count_request
from sluicegate.admin.identity import Admin, Role
from sluicegate.audit.trail import announce
from sluicegate.http.responses import NOT_STORED, as_sluicegate_error, error_response

log = logging.getLogger(__name__)

PREFIX = "/admin/v1"
VERSION_HEADER = "Sluicegate-Version"
"""Contains the version of the gateway in each response, also in errors."""
Handler = Callable[[AdminCall], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class AdminRoute:
    """A route, and who can use it.

    Attributes:
        body: Model of the request body, or `None`.
    """

    method: str
    path: str
    handler: Handler
    role: Role
    operation: str
    all_shares: bool = False
    body: type[BaseModel] | None = None


class AdminEndpoint:
    """The ASGI endpoint of a route."""

    def __init__(self, route: AdminRoute, authentication: AdminAuthentication, max_body: int) -> None:
        self._route = route
        self._authentication = authentication
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive)
        try:
            admin = await self._admit(request)
            if request.method not in ("GET", "HEAD"):
                await announce()
            response = await self._route.handler(AdminCall(request, admin, self._max_body))
            response.headers.update(NOT_STORED)
            if request.method not in ("GET", "HEAD"):
                log.info("%s '%s': %s %s", admin.role, admin.name, request.method, request.url.path)
        except Exception as error:
            response = error_response(as_sluicegate_error(error))
        response.headers[VERSION_HEADER] = __version__
        await response(scope, receive, send)

    async def _admit(self, request: Request) -> Admin:
        address = request.client and request.client.host
        admin = await self._authentication.authenticate(request.headers, address)
        await count_request(request, admin)
        admin.check_role(self._route.role)
        if self._route.all_shares:
            admin.check_all_shares()
        return admin


class MethodEndpoints:
    """The ASGI endpoint of a path, which has an endpoint for each of its methods.

    One route for all methods has the correct `Allow` header in 405 responses.
    """

    def __init__(self, endpoints: Mapping[str, AdminEndpoint]) -> None:
        self.endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self.endpoints[method](scope, receive, send)


def starlette_routes(
    routes: Iterable[AdminRoute], authentication: AdminAuthentication, max_body: int
) -> list[Route]:
    """The routes of an application, one for each path."""
    paths: dict[str, dict[str, AdminEndpoint]] = {}
    for route in routes:
        endpoint = AdminEndpoint(route, authentication, max_body)
        paths.setdefault(route.path, {})[route.method] = endpoint
    return [
        Route(PREFIX + path, MethodEndpoints(endpoints), methods=[*endpoints])
        for path, endpoints in paths.items()
    ]
