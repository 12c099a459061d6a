"""A flood of requests from very many addresses."""

from __future__ import annotations

import tracemalloc
from ipaddress import IPv4Address

from starlette.types import Message, Receive, Scope, Send

from sluicegate.access.limits.addresses import ADDRESSES, AddressLimit
from sluicegate.access.limits.bucket import Rate
from sluicegate.http.responses import error_response

MANY, LAST = 100_000, ADDRESSES
_FIRST = int(IPv4Address("10.0.0.0"))


async def test_a_hundred_thousand_addresses_keep_memory_bounded() -> None:
    served: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        served[:] = [scope["client"][0]]

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    statuses: list[int] = []

    async def send(message: Message) -> None:
        if "status" in message:
            statuses.append(message["status"])

    limited = AddressLimit(app, lambda _, error: error_response(error), rate=Rate(1, 1))

    async def request(client: str) -> None:
        scope = {
            "type": "http",
            "path": "/delta-sharing/shares",
            "method": "GET",
            "client": (client, 1),
        }
        await limited(scope, receive, send)

    for number in range(MANY - LAST):
        await request(str(IPv4Address(_FIRST + number)))
    tracemalloc.start()
    try:
        for number in range(MANY - LAST, MANY):
            await request(str(IPv4Address(_FIRST + number)))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(limited.buckets) == ADDRESSES
    assert used < 500 * LAST
    assert statuses == []
    await request(served[0])
    assert statuses == [429]
