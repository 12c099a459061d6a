"""Concurrent requests of clients are bounded; those that wait for their task are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
from support.servers.delegation import (
    API,
    FOREIGN_SECRET,
    Desk,
    FolderPurge,
    Service,
    body,
    running_service,
)

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@asynccontextmanager
async def unfinished(
    service: Service, path: str, content: bytes, **headers: str
) -> AsyncIterator[None]:
    """Send a request whose body does not come until the block ends; it has its places by then."""
    awaited, go = asyncio.Event(), asyncio.Event()

    async def late() -> AsyncIterator[bytes]:
        awaited.set()
        await go.wait()
        yield content

    sending = asyncio.create_task(service.http.post(API + path, content=late(), headers=headers))
    await awaited.wait()
    yield
    go.set()
    assert (await sending).is_success


def refused(answer: httpx.Response, says: str) -> bool:
    """Whether an answer is the refusal of one request too many."""
    said: dict[str, Any] = answer.json()
    assert answer.headers["retry-after"] == "5"
    return (answer.status_code, said["error_code"]) == (429, "RESOURCE_EXHAUSTED") and (
        says in said["message"]
    )


async def test_a_client_with_too_many_requests_keeps_nobody_else_waiting(
    desk: Desk, tmp_path: Path
) -> None:
    server = {"max_requests_per_recipient": 1, "queue_timeout": 0}
    async with running_service(
        desk, FolderPurge(tmp_path), with_worker=False, server=server
    ) as service:
        await service.log_in("other", FOREIGN_SECRET)
        other = {"Authorization": service.http.headers["Authorization"]}
        await service.log_in()
        async with unfinished(service, "/v1/tasks", orjson.dumps(body())):
            assert refused(await service.get(""), "this client has 1 concurrent requests")
            assert refused(await service.post("", body("T2")), "this client has 1 concurrent requests")
            served = await service.http.get(f"{API}/v1/tasks", headers=other)
        assert served.status_code == 200
        assert len((await service.get("")).json()["tasks"]) == 1


async def test_requests_without_a_client_are_bounded_by_their_address(
    desk: Desk, tmp_path: Path
) -> None:
    server = {"max_requests_per_address": 1}
    async with running_service(
        desk, FolderPurge(tmp_path), with_worker=False, server=server
    ) as service:
        form = f"grant_type=client_credentials&client_id=other&client_secret={FOREIGN_SECRET}"
        content = form.replace(" ", "+").encode()
        proof = service.http.headers.pop("Authorization")
        async with unfinished(service, "/v1/oauth/tokens", content, **FORM):
            assert refused(await service.get(""), "your address has 1 concurrent requests")
            token = await service.http.post(f"{API}/v1/oauth/tokens", content=content, headers=FORM)
            health = await service.http.get("/livez")
        assert (token.status_code, token.json()["error"]) == (429, "slow_down")
        assert health.status_code == 200
        service.http.headers["Authorization"] = proof
        assert (await service.get("")).status_code == 200


async def test_who_waits_for_a_task_holds_no_place(desk: Desk, tmp_path: Path) -> None:
    server = {"max_requests": 1, "max_requests_per_recipient": 1}
    async with running_service(
        desk, FolderPurge(tmp_path), with_worker=False, server=server
    ) as service:
        waiting, found = [], list[Any]()
        for number in range(1, 4):
            executing = service.post("/execute/synchronous", body(f"T{number}"))
            waiting.append(asyncio.create_task(executing))
            while len(found) < number:
                answer = await service.get("")
                assert answer.status_code == 200
                found = answer.json()["tasks"]
        assert not any(each.done() for each in waiting)
        for task in found:
            assert (await service.post(f"/{task['task_id']}/cancel")).status_code == 202
        for each in waiting:
            assert (await each).json()["status"] == "FAILED_TERMINAL"
