"""The API beside the failures: asynchronous tasks, repeats, listings, cancelling, credentials."""

from __future__ import annotations

import asyncio
import json
import re

import anyio
import httpx
import pytest
from sqlalchemy import select
from support.servers.delegation import (
    API,
    KEY,
    PURGE,
    Desk,
    Failing,
    Waiting,
    base_of,
    body,
    payload,
    running_service,
)

from sluicegate.api import TaskFailed
from sluicegate.database import Store
from sluicegate.database.task_tables import task_versions, tasks
from sluicegate.delegation.queue.encryption import PayloadCipher, open_task
from sluicegate.http.serving import address_of, bind, serve_app
from sluicegate.signing.keyring import KeyRing

CONFIG = {"s3.secret-access-key": "a vended secret of the tests"}


async def test_an_asynchronous_task_is_looked_up_where_its_answer_says(desk: Desk) -> None:
    waiting = Waiting()
    async with running_service(desk, waiting) as service:
        accepted = await service.post("?status_names=asynchronous", body(correlation_id="one"))
        task_id = accepted.json()["delegation_task_id"]
        assert (accepted.status_code, accepted.json()) == (
            202,
            {
                "delegation_task_id": task_id,
                "status": "QUEUED",
                "status_query_url": f"{API}/v1/tasks/{task_id}",
            },
        )
        await waiting.started.wait()
        url = accepted.json()["status_query_url"]
        running = (await service.http.get(url)).json()
        assert (running["status"], running["task_type"], running["attempt_count"]) == (
            "RUNNING",
            PURGE,
            1,
        )
        other_names = {"status_names": "asynchronous"}
        assert (await service.http.get(url, params=other_names)).json()["status"] == "PROCESSING"
        waiting.go.set()
        await desk.ended(task_id)
        history = (await service.get(f"/{task_id}/history")).json()["versions"]
    assert [(each["version"], each["status"]) for each in history] == [
        (1, "SUBMITTED"),
        (2, "ACQUIRING_RESOURCES"),
        (3, "RUNNING"),
        (4, "SUCCESS"),
    ]


async def test_a_listing_is_filtered_and_paged(desk: Desk) -> None:
    async with running_service(desk, Waiting(), with_worker=False) as service:
        for number in range(5):
            realm = "stage" if number == 4 else "prod"
            await service.post("", body(f"T{number}", correlation_id=f"c{number}", realm=realm))
        first = (await service.get("", limit=2)).json()
        second = (await service.get("", limit=2, after=first["next_after"])).json()
        third = (await service.get("", limit=2, after=second["next_after"])).json()
        pages = [[each["correlation_id"] for each in page["tasks"]] for page in (first, second, third)]
        assert sorted(each for page in pages for each in page) == [f"c{number}" for number in range(5)]
        assert "next_after" not in third
        for query, expected in (
            ({"realm": "stage"}, ["c4"]),
            ({"correlation_id": "c2"}, ["c2"]),
            ({"status": "RUNNING"}, []),
            ({"operation_type": "TABLE_COMPACTION"}, []),
        ):
            found = (await service.get("", **query)).json()["tasks"]
            assert [each["correlation_id"] for each in found] == expected, query
        for query in (
            {"limit": "0"},
            {"limit": "many"},
            {"limit": "9" * 5000},
            {"status": "QUEUED"},
            {"correlation_id": "a\0"},
        ):
            assert (await service.get("", **query)).status_code == 400, query
        assert (await service.get("/%00")).status_code == 404
        assert (await service.get("", realm="elsewhere")).status_code == 403


@pytest.mark.parametrize("path", ["/", "/{}/", "/{}/history/", "/{}/cancel/", "/{}/nothing"])
async def test_an_address_that_does_not_exist_is_a_404_and_no_redirect(desk: Desk, path: str) -> None:
    task = await desk.queue.submit(payload(), "polaris")
    address = path.format(task.id)
    async with running_service(desk, Waiting(), with_worker=False) as service:
        for answer in (await service.get(address), await service.post(address, body())):
            assert (answer.status_code, answer.json()["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST")


async def test_a_waiting_task_is_cancelled_at_once(desk: Desk) -> None:
    async with running_service(desk, Waiting(), with_worker=False) as service:
        task_id = (await service.post("", body())).json()["delegation_task_id"]
        cancelled = await service.post(f"/{task_id}/cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (202, "FAILURE")
        again = await service.post(f"/{task_id}/cancel")
        assert (again.status_code, again.json()["error_code"]) == (409, "TASK_ENDED")


async def test_a_running_task_is_stopped_and_its_caller_notified(desk: Desk) -> None:
    waiting = Waiting()
    async with running_service(desk, waiting, lease={"heartbeat": 1}) as service:
        call = asyncio.create_task(service.post("/execute/synchronous", body()))
        await waiting.started.wait()
        [task] = (await service.get("")).json()["tasks"]
        assert (await service.post(f"/{task['task_id']}/cancel")).json()["status"] == "RUNNING"
        answer = await call
    assert (answer.status_code, answer.json()["error_code"]) == (409, "TASK_CANCELLED")
    assert waiting.cancelled


async def test_a_failed_task_is_tried_once_more(desk: Desk) -> None:
    failing = Failing(TaskFailed("no", error_code="ENGINE_FAILED"), times=1)
    async with running_service(desk, failing) as service:
        failed = await service.post("/execute/synchronous", body())
        task_id = failed.json()["delegation_task_id"]
        retried = await service.post(f"/{task_id}/retry")
        assert (failed.status_code, retried.status_code) == (502, 202)
        assert (await desk.ended(task_id)).result == {"files_deleted": 7, "bytes_deleted": 700}
        again = await service.post(f"/{task_id}/retry")
    assert (again.status_code, again.json()["error_code"]) == (409, "TASK_NOT_FAILED")


async def _stored(store: Store) -> str:
    async with store.read() as connection:
        rows = [
            *await connection.execute(select(tasks)),
            *await connection.execute(select(task_versions)),
        ]
    return " ".join(map(repr, rows))


async def test_credentials_are_sealed_and_gone_at_the_end(desk: Desk) -> None:
    waiting = Waiting()
    async with running_service(desk, waiting) as service:
        accepted = await service.post("", body(correlation_id="one", config=CONFIG))
        task_id = accepted.json()["delegation_task_id"]
        await waiting.started.wait()
        assert waiting.configs == [CONFIG]
        assert "vended" not in await _stored(desk.store)
        assert "vended" not in (await service.get(f"/{task_id}")).text
        renewed = {"s3.secret-access-key": "a newer secret"}
        await service.post("", body(correlation_id="one", config=renewed))
        waiting.go.set()
        await desk.ended(task_id)
    assert waiting.configs == [CONFIG, renewed]
    assert (await desk.queue.get(task_id)).sealed is None


async def test_keys_are_rotated_while_tasks_wait(desk: Desk) -> None:
    await desk.queue.submit(payload(config=CONFIG), "polaris")
    task = await desk.leases.acquire("w", [PURGE])
    assert task is not None
    new = b"another key, with many more bytes"
    assert open_task(task, PayloadCipher(KeyRing((new, KEY)))).config == CONFIG
    with pytest.raises(TaskFailed, match="no longer configured"):
        open_task(task, PayloadCipher(KeyRing((new,))))


async def test_a_client_that_hangs_up_leaves_a_task_that_its_repeat_joins(desk: Desk) -> None:
    waiting = Waiting()
    listener, stop = bind("127.0.0.1", 0), asyncio.Event()
    url = f"{address_of(listener)}{API}/v1/tasks/execute/synchronous"
    async with running_service(desk, waiting) as service, base_of(desk, waiting).app() as app:
        serving = asyncio.create_task(serve_app(app, listener, shutdown_grace_period=5, stop=stop))
        headers = {"Authorization": service.http.headers["Authorization"]}
        async with httpx.AsyncClient(headers=headers) as client:
            with anyio.move_on_after(30) as deadline:
                async with anyio.create_task_group() as group:
                    group.start_soon(_call, client, url)
                    await waiting.started.wait()
                    group.cancel_scope.cancel()
            assert not deadline.cancelled_caught
            waiting.go.set()
            joined = await client.post(url, json=body(correlation_id="one"), timeout=30)
        stop.set()
        await serving
    listener.close()
    assert joined.json()["status"] == "COMPLETED_SUCCESS"
    assert len(waiting.configs) == 2


async def _call(client: httpx.AsyncClient, url: str) -> None:
    await client.post(url, json=body(correlation_id="one"), timeout=60)


async def test_the_openapi_document_describes_every_route(desk: Desk) -> None:
    async with running_service(desk, Waiting(), with_worker=False) as service:
        document = (await service.http.get(f"{API}/openapi.json")).json()
        for path, item in document["paths"].items():
            for method in item:
                answer = await service.http.request(method, API + path.replace("{task_id}", "x"))
                assert answer.status_code in (200, 400, 404), (method, path)
                assert answer.json().get("message") != "there is no such route"
    named = {"TaskPayload", "CommonPayload", "PurgeTableOperationParameters", "TableIdentity"}
    assert named < set(document["components"]["schemas"])
    for reference in re.findall(r'"#/components/([^"]+)"', json.dumps(document)):
        kind, _, name = reference.partition("/")
        assert name in document["components"][kind], reference
