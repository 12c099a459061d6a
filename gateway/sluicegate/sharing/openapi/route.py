"""Serves the document to anybody: it says nothing about this gateway but its address."""

from __future__ import annotations

from functools import cache

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.http.responses import JSON
from sluicegate.sharing.openapi.document import DOCUMENT, document


def openapi_route(public_url: str, prefix: str) -> Route:
    """The route of the document of a gateway, made when it is first asked for."""

    @cache
    def content() -> bytes:
        return orjson.dumps(document(public_url, prefix))

    async def serve(request: Request) -> Response:
        return Response(content(), media_type=JSON)

    return Route(prefix + DOCUMENT, serve, methods=["GET"], name="openapi")
