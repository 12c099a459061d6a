"""Serves the document without authentication: it reveals nothing about this gateway but its URL."""

from __future__ import annotations

from functools import cache

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.http.responses import JSON
from sluicegate.protocols.openapi.document import DOCUMENT, document


def openapi_route(public_url: str, prefix: str) -> Route:
    """The route of a gateway's document, which is built when it is first requested."""

    @cache
    def content() -> bytes:
        return orjson.dumps(document(public_url, prefix))

    async def serve(request: Request) -> Response:
        return Response(content(), media_type=JSON)

    return Route(prefix + DOCUMENT, serve, methods=["GET"], name="openapi")
