"""Requests of one address, before it is known who sends them."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from support.clients.asgi import Request, exchange, scope_of
from support.process.clock import Clock

from sluicegate.access.limits.addresses import AddressLimit, address_key
from sluicegate.access.limits.bucket import Rate
from sluicegate.http.responses import error_response


class Slow:
    """Responds when it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.arrived: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.arrived.put_nowait(scope["path"])
        await self.go.wait()
        await PlainTextResponse("done")(scope, receive, send)


async def status(app: AddressLimit, client: str, path: str = "/delta-sharing/shares") -> int:
    async def at_address(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "client": (client, 1)}, receive, send)

    return (await exchange(at_address, Request("GET", path))).status


async def test_an_address_has_only_so_many_requests_at_once() -> None:
    slow = Slow()
    app = AddressLimit(slow, lambda _, error: error_response(error), concurrent=2)
    running = [asyncio.create_task(status(app, f"2001:db8::{number}")) for number in (1, 2)]
    for _ in running:
        await slow.arrived.get()
    assert await status(app, "2001:db8::3") == 429
    slow.go.set()
    assert await status(app, "192.0.2.1") == 200
    assert await asyncio.gather(*running) == [200, 200]
    assert await status(app, "2001:db8::3") == 200


async def test_a_request_that_fails_leaves_too() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError

    app = AddressLimit(broken, lambda _, error: error_response(error), concurrent=1)
    for _ in range(3):
        with pytest.raises(RuntimeError):
            await status(app, "192.0.2.1")


async def test_a_refused_request_says_when_to_come_again_and_takes_nothing() -> None:
    slow, clock = Slow(), Clock(0)
    slow.go.set()
    app = AddressLimit(slow, lambda _, error: error_response(error), rate=Rate(6, 1), clock=clock)
    assert await status(app, "192.0.2.1") == 200
    for _ in range(5):
        assert await status(app, "192.0.2.1") == 429
    assert await status(app, "192.0.2.1", "/readyz") == 200
    clock.advance(10)
    assert await status(app, "192.0.2.1") == 200


async def test_peers_without_an_address_are_served() -> None:
    slow = Slow()
    slow.go.set()
    app = AddressLimit(slow, lambda _, error: error_response(error), rate=Rate(1, 9))
    for client in (None, ("", 0), ("unix:", 0), ("not an address", 0)):
        scope = scope_of(Request("GET", "/")) | {"client": client}
        sent: list[object] = []

        async def send(message: object, sent: list[object] = sent) -> None:
            sent.append(message)

        async def receive() -> dict[str, object]:
            return {"type": "http.request"}

        await app(scope, receive, send)
        assert sent


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:ffff:1%eth0", "2001:db8::/64"),
        ("", ""),
    ],
)
def test_ipv6_counts_by_its_network(host: str, key: str) -> None:
    assert address_key(host) == key
