"""What every request leaves behind: an id, and one line in the access log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from support.servers.telemetry import SECRET, serving

from sluicegate.telemetry.middleware import RequestTelemetry

LogLines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
async def client(app: RequestTelemetry, log_lines: LogLines) -> AsyncIterator[httpx.AsyncClient]:
    """Talks to the application behind a real uvicorn."""
    async with serving(app) as address, httpx.AsyncClient(base_url=address) as http:
        log_lines()  # uvicorn's own lines about its start
        yield http


def access(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["logger"] == "sluicegate.access_log"]


async def test_every_request_is_one_line(client: httpx.AsyncClient, log_lines: LogLines) -> None:
    response = await client.get("/shares/sales%20eu?token=x", headers={"user-agent": "pandas"})
    [line] = access(log_lines())
    assert line.pop("ts")
    assert line.pop("duration_ms") > 0
    assert line == {
        "level": "info",
        "logger": "sluicegate.access_log",
        "message": "GET /shares/sales%20eu 200",
        "request_id": response.headers["x-request-id"],
        "method": "GET",
        "path": "/shares/sales%20eu",
        "status": 200,
        "bytes": len(response.content),
        "recipient": "acme",
        "client": "127.0.0.1",
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "sent", "level"),
    [
        ("GET", "/shares/sales", 200, None, "info"),
        ("HEAD", "/shares/sales", 200, 0, "info"),
        ("POST", "/shares/sales", 405, None, "info"),
        ("GET", "/nothing", 404, None, "info"),
        ("GET", "/missing", 404, 2, "info"),
        ("GET", "/unavailable", 503, 2, "warning"),
        ("GET", "/stream", 200, 30, "info"),
        ("GET", "/broken", 500, None, "warning"),
        ("GET", "/plugin/x", 200, 2, "info"),
        ("OPTIONS", "/stream", 405, None, "info"),
    ],
)
async def test_a_line_says_how_it_ended(
    client: httpx.AsyncClient,
    log_lines: LogLines,
    method: str,
    path: str,
    status: int,
    sent: int | None,
    level: str,
) -> None:
    response = await client.request(method, path)
    assert response.status_code == status
    [line] = access(log_lines())
    assert (line["method"], line["path"], line["status"], line["level"]) == (
        method,
        path,
        status,
        level,
    )
    assert line["bytes"] == (len(response.content) if sent is None else sent)
    assert "disconnected" not in line


@pytest.mark.parametrize("given", ["a", "0af7651916cd43dd8448eb211c80319c", "!~" * 64])
async def test_a_well_formed_request_id_is_logged_next_to_the_gateways(
    client: httpx.AsyncClient, log_lines: LogLines, given: str
) -> None:
    response = await client.get("/shares/sales", headers={"x-request-id": given})
    own = response.headers["x-request-id"]
    assert response.json() == {"request": own}
    assert len(own) == 32
    (line,) = access(log_lines())
    assert (line["request_id"], line["client_request_id"]) == (own, given)


@pytest.mark.parametrize("given", [None, "", "x" * 129, "two words", "ü".encode("latin-1"), b"a\tb"])
async def test_any_other_request_id_is_ignored(
    client: httpx.AsyncClient, log_lines: LogLines, given: str | bytes | None
) -> None:
    headers = (
        {}
        if given is None
        else {b"x-request-id": given if isinstance(given, bytes) else given.encode()}
    )
    ids = {
        (await client.get("/shares/sales", headers=headers)).headers["x-request-id"] for _ in range(3)
    }
    assert len(ids) == 3
    assert all(len(made) == 32 and int(made, 16) for made in ids)
    assert not any("client_request_id" in line for line in log_lines())


async def test_all_lines_of_a_request_have_its_id(
    client: httpx.AsyncClient, log_lines: LogLines
) -> None:
    responses = await asyncio.gather(*(client.get("/shares/s") for _ in range(20)))
    lines = log_lines()
    for name in (response.headers["x-request-id"] for response in responses):
        mine = [line["message"] for line in lines if line.get("request_id") == name]
        assert mine == ["resolving", "GET /shares/s 200"]


@pytest.mark.parametrize("path", ["/broken", "/bare/x"])
async def test_an_unexpected_exception_is_found_by_the_request_id(
    client: httpx.AsyncClient, log_lines: LogLines, path: str
) -> None:
    response = await client.get(path, headers={"x-request-id": "request-9"})
    assert response.status_code == 500
    lines = log_lines()
    [unexpected] = [line for line in lines if "exception" in line]
    assert unexpected["client_request_id"] == "request-9"
    assert unexpected["exception"]["type"] == "RuntimeError"
    assert SECRET not in str(lines)


async def test_a_client_that_goes_away_is_marked(
    client: httpx.AsyncClient, log_lines: LogLines
) -> None:
    async with client.stream("GET", "/endless") as response:
        await anext(response.aiter_bytes())
    found: list[dict[str, Any]] = []
    while not found:
        await asyncio.sleep(0.01)
        found = access(log_lines())
    [line] = found
    assert line["disconnected"] is True
    assert (line["status"], line["level"]) == (200, "info")
    assert line["bytes"] >= 1024


async def test_what_is_no_http_passes_untouched(app: RequestTelemetry, log_lines: LogLines) -> None:
    received: list[str] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        received.append(scope["type"])

    await RequestTelemetry(inner)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert received == ["lifespan"]
    assert log_lines() == []
