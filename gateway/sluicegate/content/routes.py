"""The route of the content door: GET and HEAD of one object by a signed link, in ranges if wanted."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.api import Storage
from sluicegate.content.links import verify
from sluicegate.content.objects import respond
from sluicegate.errors import NotFound
from sluicegate.http.admission import ticket_of
from sluicegate.keyring import KeyRing
from sluicegate.telemetry import span


def content_routes(
    resolve: Callable[[str], Storage | None], keys: KeyRing, clock: Callable[[], float] = time.time
) -> list[Route]:
    """Routes that serve what `ContentLinks` signed: the link is the credential, without a bearer token.

    Args:
        resolve: The storage instance of a name in a link.
        keys: One of them signed each link.
        clock: Seconds since the epoch.
    """

    async def content(request: Request) -> Response:
        name, path = request.path_params["storage"], request.path_params["path"]
        verify(keys, name, path, request.url.query, clock())
        ticket = ticket_of(request.scope)
        if ticket is not None:
            await ticket.enter(None)
        storage = resolve(name)
        if storage is None or not path:
            raise NotFound("what this link led to is not served any more", detail=name)
        with span("content.open", storage=name):
            opened = await storage.open(storage.prefix + path)
        return await respond(opened.store, opened.key(""), request.method, request.headers)

    return [Route("/content/{storage}/{path:path}", content, methods=["GET", "HEAD"], name="content")]
