"""The proxy fails as it is told to, and passes everything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from soak.faults import FaultyProxy
from soak.schedule import Fault

BODY = b"x" * 200_000


@asynccontextmanager
async def server() -> AsyncIterator[str]:
    """Responds with `BODY` to each request of a connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


class Failing:
    """How the server fails now."""

    def __init__(self) -> None:
        self.fault: Fault | None = None


@pytest.mark.parametrize("kept", [False, True], ids=["new connection", "kept connection"])
@pytest.mark.parametrize("fault", Fault)
async def test_each_fault_happens_and_passes(fault: Fault, kept: bool) -> None:
    failing = Failing()
    async with server() as address:
        proxy = FaultyProxy(address, lambda: failing.fault)
        async with proxy.serving(), httpx.AsyncClient(base_url=proxy.address) as client:
            if kept:
                assert (await client.get("/")).content == BODY
            failing.fault = fault
            assert await outcome(client) == EXPECTED[fault]
            assert proxy.injected[fault] > 0
            failing.fault = None
            assert (await client.get("/")).content == BODY


EXPECTED = {
    Fault.REFUSE: "broken",
    Fault.HANG: "silent",
    Fault.ERROR: "500",
    Fault.RESET: "broken",
    Fault.TRUNCATE: "broken",
    Fault.SLOW: "200",
}


async def outcome(client: httpx.AsyncClient) -> str:
    """What a client notices."""
    try:
        return str((await client.get("/", timeout=httpx.Timeout(10, read=2))).status_code)
    except httpx.ReadTimeout:
        return "silent"
    except httpx.HTTPError:
        return "broken"
