"""Requests to routes in this process, without sockets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
from starlette.routing import Route
from starlette.types import ASGIApp
from support.gateways.memory_grants import ACME, RIVAL

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.api import AuthenticationRequest, Authenticator, Principal
from sluicegate.http.application import Application
from sluicegate.http.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitMiddleware


class KnownNames(Authenticator):
    """Takes a recipient's name for its bearer token, and properties from a header."""

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """The recipient of this name."""
        known = {f"Bearer {each.name}": each for each in (ACME, RIVAL)}
        found = known.get(request.authorization or "")
        properties = json.loads(request.headers.get(_PROPERTIES, "{}"))
        return found and replace(found, properties=properties)


AUTHENTICATION = Authentication([KnownNames()])
_PROPERTIES = "x-properties"


async def send(
    routes: Sequence[Route],
    method: str,
    path: str,
    body: Any = None,
    *,
    recipient: str | None = "acme",
    properties: Mapping[str, str] | None = None,
    headers: dict[str, str] | None = None,
    limit: ConcurrencyLimit | None = None,
) -> httpx.Response:
    """The response to one request."""
    sent = {**(headers or {}), _PROPERTIES: json.dumps(dict(properties or {}))}
    if recipient is not None:
        sent["authorization"] = f"Bearer {recipient}"
    content: dict[str, Any] = {} if body is None else {"json": body}
    if isinstance(body, bytes):
        content = {"content": body}
    app: ASGIApp = Application(routes=list(routes))
    transport = httpx.ASGITransport(ConcurrencyLimitMiddleware(app, limit) if limit else app)
    async with httpx.AsyncClient(transport=transport, base_url="https://gateway.example") as client:
        return await client.request(method, path, headers=sent, **content)
