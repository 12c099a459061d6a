"""Repeated queries through a running gateway: the same answer, for recipients who still have access."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.gateways.gateway import RunningGateway, running_gateway, write_configuration
from support.gateways.vending_files import vending_gateway
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

QUERY = "/shares/sales/schemas/eu/tables/orders/query"
REVISION_SECONDS = 10  # a gateway reads changed grants after one second


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("answers")
    with gateway(folder) as running:
        yield running


def gateway(folder: Path, **settings: Any) -> AbstractContextManager[RunningGateway]:
    """A gateway that shares a table of two files with two recipients."""
    lake = folder / "lake"
    write(lake)
    write(lake)
    table = {"catalog": "raw", "table": f"file://{lake}/orders", "history": True}
    shares = {"sales": {"schemas": {"eu": {"tables": {"orders": table}}}}}
    write_configuration(
        folder,
        {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{lake}/"}],
            "telemetry": {"log_format": "json"},
            **settings,
        },
        {"shares": shares, "recipients": {name: {"shares": ["sales"]} for name in ("acme", "rival")}},
    )
    return running_gateway(folder)


def write(lake: Path) -> None:
    write_deltalake(lake / "orders", pa.table({"id": [1, 2]}), mode="append")


def client(running: RunningGateway, recipient: str = "acme", coding: str = "identity") -> httpx.Client:
    token = json.loads(running.profile(recipient).read_text())["bearerToken"]
    headers = {"authorization": f"Bearer {token}", "accept-encoding": coding}
    return httpx.Client(base_url=running.endpoint, headers=headers, timeout=30)


def query(sender: httpx.Client, **body: Any) -> str:
    answer = sender.post(QUERY, json=body)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
def test_a_repeated_query_gets_the_same_answer(served: RunningGateway, coding: str) -> None:
    with client(served, coding=coding) as sender:
        first = query(sender, maxFiles=10)
        time.sleep(1.1)  # signatures have the second in which they were made
        assert query(sender, maxFiles=10) == first
        assert query(sender, maxFiles=9) != first
    assert len(first.splitlines()) == 5


def test_each_recipient_gets_its_own(served: RunningGateway) -> None:
    with client(served) as acme, client(served, "rival") as rival:
        first = query(acme)
        time.sleep(1.1)
        assert query(rival) != first


def test_links_of_a_repeated_answer_can_be_opened(served: RunningGateway) -> None:
    with client(served) as sender:
        query(sender)
        files = [json.loads(line)["file"] for line in query(sender).splitlines()[2:]]
    for file in files:
        assert len(httpx.get(file["url"]).content) == file["size"]


def test_a_repeated_answer_has_the_same_line_in_the_access_log(served: RunningGateway) -> None:
    names = ("cached-answer-1", "cached-answer-2")
    with client(served, coding="gzip") as sender:
        for name in names:
            sender.post(QUERY, json={"limitHint": 1}, headers={"x-request-id": name})
    assert all(served.logs(name) for name in names)
    logged = [json.loads(line) for line in served.log.splitlines() if '"cached-answer-' in line]
    first, second = [
        {key: line[key] for key in ("path", "status", "bytes", "recipient")} for line in logged
    ]
    assert first == second


def test_a_commit_ends_the_answer(tmp_path: Path) -> None:
    with gateway(tmp_path) as running, client(running) as sender:
        assert len(query(sender).splitlines()) == 4
        write(tmp_path / "lake")
        assert len(query(sender).splitlines()) == 5


def test_a_revoked_recipient_gets_nothing(tmp_path: Path) -> None:
    with sharing(tmp_path) as running, client(running) as acme, client(running, "rival") as rival:
        assert query(acme) == query(rival)
        running.command("recipient", "revoke", "acme")
        assert status_then(acme) == 401
        assert query(rival)


def test_a_recipient_without_a_grant_gets_nothing(tmp_path: Path) -> None:
    with sharing(tmp_path) as running, client(running) as acme, client(running, "rival") as rival:
        assert query(acme) == query(rival)
        shares = json.loads((tmp_path / "shares.yaml").read_text())
        shares["recipients"]["acme"]["shares"] = []
        (tmp_path / "shares.yaml").write_text(json.dumps(shares))
        running.command("apply", "shares.yaml", "--offline")
        assert status_then(acme) == 404
        assert query(rival)


def sharing(folder: Path) -> AbstractContextManager[RunningGateway]:
    return gateway(folder, cache={"share_answers": True})


def status_then(sender: httpx.Client) -> int:
    """The status of a query once it is refused."""
    until = time.monotonic() + REVISION_SECONDS
    while (status := sender.post(QUERY, json={}).status_code) == 200 and time.monotonic() < until:
        time.sleep(0.1)
    return status


def test_the_cache_can_be_turned_off(tmp_path: Path) -> None:
    with gateway(tmp_path, cache={"answers": 0}) as running, client(running) as sender:
        first = query(sender)
        time.sleep(1.1)
        assert query(sender) != first


WRAPPER = """
from sluicegate.api import hookimpl

SEEN = []

@hookimpl
def sluicegate_wrap_app(app, services):
    async def wrapped(scope, receive, send):
        async def noting(message):
            SEEN.append(message.get("body", b""))
            await send(message)
        await app(scope, receive, noting)
    return wrapped
"""


def test_plugins_that_wrap_the_application_see_lines(tmp_path: Path) -> None:
    files = [add(f"{number}.parquet") for number in range(50)]  # enough to be compressed
    DeltaFolder(tmp_path / "lake" / "orders").commit(0, protocol(), metadata(), *files)
    with vending_gateway(tmp_path, {"orders": {}}, plugins={"wrapper": WRAPPER}) as served:
        seen: list[bytes] = importlib.import_module("plugin_wrapper").SEEN
        bodies = []
        for _ in range(2):
            seen.clear()
            answer = served.query("schemas/eu/tables/orders", accept_encoding="gzip")
            assert answer.headers["content-encoding"] == "gzip"
            bodies.append(answer.body)
            assert b"".join(seen) == bodies[-1]
        assert bodies[0] == bodies[1]
