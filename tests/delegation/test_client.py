"""The client: one call, whichever strategy is configured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError
from support.servers.delegation import (
    CATALOG,
    PURGE,
    SECRET,
    Desk,
    Failing,
    FolderPurge,
    base_of,
    make_table,
    running_service,
)

from sluicegate.api import (
    DelegatedTask,
    PermissionDenied,
    TableIdentity,
    TaskExecutor,
    TaskFailed,
    Unavailable,
)
from sluicegate.delegation.client import Delegated, TaskClientConfig, TaskStrategy, task_strategy
from sluicegate.http.serving import address_of, bind, serve_app
from sluicegate_testing.servers.catalog_http import Reply, Request, serve

TASK = DelegatedTask(
    id="", operation=PURGE, realm="prod", table=TableIdentity("entity", CATALOG, ("NS1",), "T1")
)


@asynccontextmanager
async def strategy(
    kind: str, desk: Desk, executor: TaskExecutor, secret: str = SECRET
) -> AsyncIterator[TaskStrategy]:
    """A strategy; for `delegated` with a service and a worker."""
    listener, stop = bind("127.0.0.1", 0), asyncio.Event()
    config = TaskClientConfig.model_validate(
        {
            "task_type": kind,
            "endpoint": address_of(listener),
            "client_id": "polaris",
            "client_secret": secret,
        }
    )
    async with running_service(desk, executor), base_of(desk, executor).app() as app:
        ready = asyncio.Event()
        serving = asyncio.create_task(
            serve_app(app, listener, shutdown_grace_period=5, on_ready=lambda _: ready.set(), stop=stop)
        )
        await ready.wait()
        found = task_strategy(config, {PURGE: executor})
        try:
            yield found
        finally:
            await found.aclose()
            stop.set()
            await serving
            listener.close()


@pytest.mark.parametrize("kind", ["local", "delegated"])
async def test_both_strategies_do_the_same(desk: Desk, tmp_path: Path, kind: str) -> None:
    make_table(tmp_path, "T1", 5)
    async with strategy(kind, desk, FolderPurge(tmp_path)) as chosen:
        result = await chosen.execute(TASK)
    assert (result.summary, result.files_deleted, result.bytes_deleted) == (
        "the table was purged",
        5,
        50,
    )
    assert list((tmp_path / "T1").iterdir()) == []


async def test_what_a_realm_is_not_granted_is_a_failed_task(desk: Desk) -> None:
    foreign = replace(TASK, table=replace(TASK.table, catalog="another"))
    async with strategy("delegated", desk, Failing(TaskFailed("no", error_code="ENGINE_FAILED"))) as it:
        with pytest.raises(TaskFailed, match="the catalog 'another'") as failed:
            await it.execute(foreign)
    assert failed.value.error_code == "NOT_GRANTED"


@pytest.mark.parametrize("kind", ["local", "delegated"])
async def test_both_strategies_fail_the_same(desk: Desk, kind: str) -> None:
    vending = TaskFailed("the catalog vends nothing", error_code="CREDENTIAL_VENDING_FAILED")
    async with strategy(kind, desk, Failing(vending)) as chosen:
        with pytest.raises(TaskFailed, match="the catalog vends nothing") as raised:
            await chosen.execute(TASK)
    assert raised.value.error_code == "CREDENTIAL_VENDING_FAILED"


async def test_a_rejected_token_is_requested_again(desk: Desk, tmp_path: Path) -> None:
    async with strategy("delegated", desk, FolderPurge(tmp_path)) as chosen:
        await chosen.execute(TASK)
        assert isinstance(chosen, Delegated)
        chosen._token = "signed.by.others"
        assert (await chosen.execute(TASK)).summary == "the table was purged"


async def test_a_service_that_does_not_let_in_or_is_away(desk: Desk, tmp_path: Path) -> None:
    async with strategy("delegated", desk, FolderPurge(tmp_path), secret="another") as chosen:
        with pytest.raises(PermissionDenied, match="invalid_client"):
            await chosen.execute(TASK)
    listener = bind("127.0.0.1", 0)
    gone = address_of(listener)
    listener.close()
    away = task_strategy(TaskClientConfig(task_type="delegated", endpoint=gone))
    with pytest.raises(Unavailable, match="does not respond"):
        await away.execute(TASK)
    await away.aclose()


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("busy", ["/v1/oauth/tokens", "/v1/tasks/execute/synchronous"])
async def test_a_busy_service_gets_the_request_again_later(busy: str, status: int) -> None:
    json = {"Content-Type": "application/json"}

    def answer(request: Request) -> Reply:
        if request.path.endswith(busy):
            return Reply(status, {"error": "slow_down", "message": "too busy"}, json)
        return Reply(200, {"access_token": "t", "expires_in": 60}, json)

    ports: list[int] = []

    def made(port: int) -> Callable[[Request], Reply]:
        ports.append(port)
        return answer

    with serve(made):
        endpoint = f"http://127.0.0.1:{ports[0]}"
        config = TaskClientConfig(task_type="delegated", endpoint=endpoint)
        async with aclosing(task_strategy(config)) as client:
            with pytest.raises(Unavailable, match="too busy"):
                await client.execute(TASK)


def test_delegating_needs_an_endpoint() -> None:
    with pytest.raises(ValidationError, match="only be delegated with an endpoint"):
        TaskClientConfig(task_type="delegated")
