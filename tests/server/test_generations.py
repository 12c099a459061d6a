"""Gateways that follow each other: which requests each one serves, and when it closes."""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message
from support.servers.migrated import new_sqlite
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.admin.tokens import AdminTokens
from sluicegate.api.errors import ConfigurationError
from sluicegate.app import Gateway
from sluicegate.audit.encoding import unpack
from sluicegate.config import Settings
from sluicegate.server import generation
from sluicegate.server.generation import Generation, Generations
from sluicegate_testing.secrets import keep_secret


def settings(folder: Path, **server: Any) -> Settings:
    """The configuration of a gateway with tables in a folder, and its database."""
    if folder.exists() and not (folder / "x.db").exists():
        new_sqlite(folder / "x.db")
    return Settings.model_validate(
        {
            "database": f"sqlite:///{folder}/x.db",
            "server": server,
            "signing_key": "k" * 32,
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{folder}/"}],
            "admin": {},
        }
    )


@pytest.fixture
def uncollected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave garbage where it is: to look for it among all that tests have imported takes a while."""
    monkeypatch.setattr(generation, "collect_all", lambda: None)


class Held:
    """A request whose body has not arrived yet."""

    def __init__(self, generations: Generations) -> None:
        self._body = asyncio.Event()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(generations), base_url="http://gateway"
        )
        self.answer = asyncio.create_task(self._client.post("/oauth/token", content=self._content()))

    async def _content(self) -> Any:
        yield b"grant_type="
        await self._body.wait()
        yield b"none"

    def complete(self) -> None:
        self._body.set()


@pytest.mark.usefixtures("uncollected")
async def test_a_gateway_closes_after_its_requests(tmp_path: Path) -> None:
    async with aclosing(Generations(await Generation.open(settings(tmp_path)))) as generations:
        held = Held(generations)
        await asyncio.sleep(0.01)
        first = generations.current
        generations.switch_to(await Generation.open(settings(tmp_path)))
        second = Held(generations)
        second.complete()
        assert (await second.answer).status_code == 400
        assert not first._task.done()
        held.complete()
        assert (await held.answer).status_code == 400
        await first._task


@pytest.mark.usefixtures("uncollected")
async def test_a_request_that_takes_longer_than_the_grace_period_is_ended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = await Generation.open(settings(tmp_path, shutdown_grace_period=0))
    async with aclosing(Generations(first)) as generations:
        held = Held(generations)
        await asyncio.sleep(0.01)
        generations.switch_to(await Generation.open(settings(tmp_path)))
        await first._task
        answer = await held.answer
        assert (answer.status_code, answer.json()["errorCode"]) == (503, "TEMPORARILY_UNAVAILABLE")
    assert "1 requests with the previous configuration were ended" in caplog.text


@pytest.mark.usefixtures("uncollected")
async def test_a_request_that_is_ended_while_its_record_waits_gets_an_error(tmp_path: Path) -> None:
    first = await Generation.open(settings(tmp_path, shutdown_grace_period=0))
    async with (
        aclosing(Generations(first)) as generations,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(generations), base_url="http://gateway"
        ) as client,
    ):
        other = await Generation.open(settings(tmp_path))
        with closing(
            sqlite3.connect(
                tmp_path / "x.db", timeout=60, isolation_level=None, check_same_thread=False
            )
        ) as connection:
            # A transaction of the gateway may have to end first, on the event loop.
            await asyncio.to_thread(connection.execute, "BEGIN IMMEDIATE")
            waiting = asyncio.create_task(client.post("/oauth/token", content=b"grant_type=none"))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            generations.switch_to(other)
            await asyncio.sleep(0.1)
            connection.execute("ROLLBACK")
        answer = await waiting
        assert answer.status_code == 503
        assert "the gateway's configuration has changed" in answer.text
        await first._task
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        blocks = connection.execute(
            "SELECT records FROM audit_chain_blocks ORDER BY last_at"
        ).fetchall()
    statuses = [json.loads(line)["status"] for (block,) in blocks for line in unpack(block)]
    assert statuses[-1] == 503


@pytest.mark.usefixtures("uncollected")
async def test_new_limits_apply_to_the_requests_of_the_next_gateway(tmp_path: Path) -> None:
    changed = {"limits": {"address": {"requests_per_minute": 1, "burst": 1}}}
    new = Settings.model_validate({**settings(tmp_path).model_dump(exclude_unset=True), **changed})
    async with aclosing(Generations(await Generation.open(settings(tmp_path)))) as generations:
        transport = httpx.ASGITransport(generations)
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
            before = [(await client.get("/delta-sharing/shares")).status_code for _ in range(3)]
            generations.switch_to(await Generation.open(new))
            after = [(await client.get("/delta-sharing/shares")).status_code for _ in range(3)]
    assert (before, after) == ([401] * 3, [401, 429, 429])


async def test_nothing_remains_of_a_closed_gateway(tmp_path: Path) -> None:
    async with aclosing(Generations(await Generation.open(settings(tmp_path)))) as generations:
        second = await Generation.open(settings(tmp_path))
        await second.gateway.warm_up(is_first=False)
        generations.switch_to(second)
        remaining = weakref.ref(second.gateway.parts.vending)
        del second
        last = await Generation.open(settings(tmp_path))
        closing = generations.current._task
        generations.switch_to(last)
        await closing
        del closing
        await asyncio.sleep(0.01)
        assert remaining() is None


async def test_the_scope_of_a_connection_does_not_keep_the_gateway(tmp_path: Path) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "GET", "path": "/livez", "headers": [], "query_string": b""}
    before = dict(scope)
    async with aclosing(Generations(await Generation.open(settings(tmp_path)))) as generations:
        await generations(scope, receive, send)
    assert sent[0]["status"] == 200
    assert scope == before


async def test_what_still_refers_to_a_closed_gateway_keeps_it_only_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: list[tuple[float, Callable[[], None]]] = []
    monkeypatch.setattr(generation, "call_later", lambda *call: later.append(call))
    first = await Generation.open(settings(tmp_path, keep_alive_timeout=200))
    async with aclosing(Generations(first)) as generations:
        idle = Knot(first.gateway)
        remaining = weakref.ref(first.gateway.parts.vending)
        generations.switch_to(await Generation.open(settings(tmp_path)))
        await first._task
        await asyncio.sleep(0.01)
        del first, idle
        gc.collect()
        assert remaining() is not None  # it was alive when others were frozen
        ((seconds, collect),) = later
        assert seconds > 200  # until then, connections can be idle
        collect()
        assert remaining() is None


class Knot:
    """A connection, whose parts refer to each other."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.itself = self


async def query(generations: Generations, folder: Path) -> int:
    """The status of a query, for which a new administrator shares a table with a new recipient."""
    table = {"catalog": "raw", "table": f"file://{folder}/notes"}
    store = generations.current.gateway.parts.store
    token = (await AdminTokens(store, token_lifetime=1000).create("ada", "owner")).token
    keep_secret(token)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(generations), base_url="http://gateway"
    ) as http:
        admin = {"Authorization": f"Bearer {token}"}
        for path, body in {
            "shares/lake": {"schemas": {"eu": {"tables": {"notes": table}}}},
            "recipients/acme": {"shares": ["lake"]},
        }.items():
            answer = await http.put(f"/admin/v1/{path}", json=body, headers=admin)
            assert answer.is_success, answer.text
        issued = await http.post(
            "/admin/v1/recipients/acme/tokens", json={"deliver": "profile"}, headers=admin
        )
        bearer = issued.json()["profile"]["bearerToken"]
        keep_secret(bearer)
        path = "/delta-sharing/shares/lake/schemas/eu/tables/notes/query"
        recipient = {
            "Authorization": f"Bearer {bearer}",
            "delta-sharing-capabilities": "asyncquery=true",
        }
        return (await http.post(path, json={"idempotencyKey": "a"}, headers=recipient)).status_code


async def test_a_query_does_not_keep_a_closed_gateway(tmp_path: Path) -> None:
    DeltaFolder(tmp_path / "notes").commit(0, protocol(), metadata("t", []), add("a.parquet"))
    async with aclosing(Generations(await Generation.open(settings(tmp_path)))) as generations:
        remaining = weakref.ref(generations.current.gateway.parts.vending)
        # In a task, as for each request of a server: this one would keep the context of the request.
        assert await asyncio.create_task(query(generations, tmp_path)) == 200
        closing = generations.current._task
        generations.switch_to(await Generation.open(settings(tmp_path)))
        await closing
        del closing
        await asyncio.sleep(0.01)
        assert remaining() is None


async def test_a_gateway_that_cannot_open_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="absent"):
        await Generation.open(settings(tmp_path / "absent"))
