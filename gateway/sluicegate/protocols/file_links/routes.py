"""The route of file links: GET and HEAD of one object through a signed link, also in ranges."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.api import Storage
from sluicegate.api.errors import NotFound
from sluicegate.audit.trail import note_claim, note_resource
from sluicegate.http.concurrency_limit import slots_of
from sluicegate.protocols.file_links.links import verify
from sluicegate.protocols.file_links.objects import respond
from sluicegate.signing.keyring import KeyRing
from sluicegate.telemetry import span


def content_routes(
    resolve: Callable[[str], Storage | None], keys: KeyRing, clock: Callable[[], float] = time.time
) -> list[Route]:
    """Routes that serve what `ContentLinks` signed, without a bearer token: the link is the credential.

    Args:
        resolve: Returns the storage instance for a name in a link.
        keys: The valid keys, one of which signed the link.
        clock: Seconds since the epoch.
    """

    async def content(request: Request) -> Response:
        name, path = request.path_params["storage"], request.path_params["path"]
        note_claim("link")
        note_resource(f"{name}/{path}")
        verify(keys, name, path, request.url.query, clock())
        slots = slots_of(request.scope)
        if slots is not None:
            await slots.enter(None)
        storage = resolve(name)
        if storage is None or not path:
            raise NotFound("the storage of this link is no longer served", detail=name)
        with span("content.open", storage=name):
            opened = await storage.open(storage.prefix + path)
        return await respond(opened.store, opened.key(""), request.method, request.headers)

    return [Route("/content/{storage}/{path:path}", content, methods=["GET", "HEAD"], name="content")]
