"""Serves the document without authentication: it reveals nothing about this gateway but its URL."""

from __future__ import annotations

from functools import partial

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate._util.lazy import Lazy
from sluicegate.http.responses import JSON
from sluicegate.protocols.openapi.address import DOCUMENT


def openapi_route(public_url: str, prefix: str) -> Route:
    """The route of a gateway's document, which is loaded when it is first requested."""
    content = Lazy(partial(_content, public_url))

    async def serve(request: Request) -> Response:
        return Response(await content.get(), media_type=JSON)

    return Route(prefix + DOCUMENT, serve, methods=["GET"], name="openapi")


def _content(public_url: str) -> bytes:
    from sluicegate.protocols.openapi.document import document  # imported late: hardly ever requested

    return orjson.dumps(document(public_url))
