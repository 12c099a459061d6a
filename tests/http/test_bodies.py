"""Bodies of requests are read to their end, or refused."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Message
from support.clients.asgi import Request as Sent
from support.clients.asgi import exchange

from sluicegate.api.errors import MalformedRequest, PayloadTooLarge
from sluicegate.http.application import Application
from sluicegate.http.bodies import limit_bodies, read_body


def arriving(*messages: Message) -> Request:
    left = list(messages)

    async def receive() -> Message:
        return left.pop(0)

    return Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_the_parts_of_a_body_are_joined() -> None:
    assert await read_body(arriving(part(b"ab", more=True), part(b"c")), 3) == b"abc"


async def test_a_longer_body_is_refused_before_it_has_arrived() -> None:
    with pytest.raises(PayloadTooLarge, match="3 bytes"):
        await read_body(arriving(part(b"abcd", more=True)), 3)


async def test_a_client_that_goes_away_is_no_internal_error() -> None:
    with pytest.raises(MalformedRequest, match="ended"):
        await read_body(arriving(part(b"a", more=True), {"type": "http.disconnect"}), 3)


async def length(request: Request) -> Response:
    return JSONResponse(len(await request.body()))


@pytest.mark.parametrize(
    "route",
    [
        Route("/plugin/length", length, methods=["POST"]),
        Mount("/plugin", routes=[Route("/length", length, methods=["POST"])]),
    ],
    ids=["route", "mount"],
)
async def test_routes_that_read_bodies_themselves_are_limited(route: BaseRoute) -> None:
    app = Application(routes=limit_bodies([route], 3))
    read = await exchange(app, Sent("POST", "/plugin/length", [], b"abc"))
    refused = await exchange(app, Sent("POST", "/plugin/length", [], b"abcd"))
    assert (read.status, read.json) == (200, 3)
    assert (refused.status, refused.json["message"]) == (413, "the body is larger than 3 bytes")
