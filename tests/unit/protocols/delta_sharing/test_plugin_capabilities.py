"""Capabilities of plugins are added where the gateway announces its own, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from starlette.types import Message, Receive, Scope, Send

from sluicegate.protocols.delta_sharing.plugin_capabilities import PluginCapabilities

NAME = b"delta-sharing-capabilities"
BODY: Message = {"type": "http.response.body", "body": b"lines", "more_body": False}


async def sent(added: Mapping[str, str], *headers: tuple[bytes, bytes]) -> list[Message]:
    """What leaves the middleware around an application that responds with these headers."""
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        await send(dict(BODY))

    async def receive() -> Message:
        raise AssertionError("nothing is received")

    async def send(message: Message) -> None:
        messages.append(message)

    await PluginCapabilities(app, added)({"type": "http"}, receive, send)
    return messages


@pytest.mark.parametrize(
    ("own", "added", "expected"),
    [
        (b"responseformat=delta", {"Acme": "Fast", "b": "1"}, b"responseformat=delta;acme=fast;b=1"),
        (b"", {"acme": "1"}, b"acme=1"),
        (b"responseformat=delta", {}, b"responseformat=delta"),
    ],
)
async def test_capabilities_follow_those_of_the_gateway(
    own: bytes, added: Mapping[str, str], expected: bytes
) -> None:
    start, body = await sent(added, (NAME, own), (b"x-other", b"1"))
    assert start["headers"] == [(NAME, expected), (b"x-other", b"1")]
    assert body == BODY


async def test_a_response_without_the_header_gets_none() -> None:
    start, body = await sent({"acme": "1"}, (b"x-other", b"1"))
    assert start["headers"] == [(b"x-other", b"1")]
    assert body == BODY
