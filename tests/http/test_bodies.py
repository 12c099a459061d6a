"""Bodies of requests are read to their end, or refused."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.types import Message

from sluicegate.api.errors import MalformedRequest, PayloadTooLarge
from sluicegate.http.bodies import read_body


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
