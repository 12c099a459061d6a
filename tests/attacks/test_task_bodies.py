"""Large, deep and wide bodies cost the delegation service little, and nobody else anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event

import httpx
import orjson
import pytest
from support.clients.bystander import watched
from support.process.installed import installed_site
from support.servers.delegation import API, SECRET, body
from support.servers.delegation_processes import DelegationProcess, delegation_process, until

from sluicegate.api.errors import MalformedRequest
from sluicegate.delegation.task_payload import MOST_LEVELS, check_shape

PLUGIN = """
import asyncio
from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, hookimpl
from sluicegate.api import TaskProgress, TaskResult

class Nothing(TaskExecutor):
    async def run(self, task, resources, run):
        for number in range(task.table.name == "beating" and 10**6):
            run.report(TaskProgress("beating", number))
            await asyncio.sleep(0.01)
        return TaskResult("nothing was done")

@hookimpl
def sluicegate_register_task_executors():
    kind = TaskExecutorType("idle", ("TABLE_PURGE",), PluginConfig, lambda config, context: Nothing())
    return [kind]
"""
MB = 1_000_000


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DelegationProcess, str]]:
    """The service with a worker in its process, and its address."""
    folder = tmp_path_factory.mktemp("service")
    delegation = {
        "realm": "prod",
        "clients": {"polaris": {"secret": {"env": "POLARIS_SECRET"}}},
        "executors": [{"type": "idle"}],
        "lease": {"heartbeat": "1s", "ttl": "10s"},
        "worker": {"concurrency": 2, "poll_interval": "1s", "drain_timeout": "0s"},
    }
    settings = {"database": f"sqlite:///{folder}/tasks.db", "delegation": delegation}
    (folder / "gateway.yaml").write_text(json.dumps(settings))
    with ExitStack() as stack:
        site = stack.enter_context(installed_site(tmp_path_factory.mktemp("site")))
        site.install("idle", PLUGIN)
        arguments = ("serve", "--with-worker", "--port", "0")
        process = stack.enter_context(delegation_process(folder, site.folder, *arguments))
        yield process, process.address().removesuffix(API)


def wide(members: int) -> bytes:
    """A payload with a list of so many members in its metadata."""
    document = body(metadata={"location": "l", "table-uuid": "u", "format-version": 2, "x": []})
    return orjson.dumps(document).replace(b'"x":[]', b'"x":[' + b"0," * (members - 1) + b"0]")


BODIES: dict[str, tuple[bytes, int]] = {
    "34 MB of members": (wide(17 * MB), 413),
    "1 MB of members": (wide(499_000), 400),
    "1 MB of brackets": (b"[" * (MB - 1), 400),
    "1 MB of empty lists": (b"[" + b"[]," * 300_000 + b"[]]", 400),
    "1 MB of texts": (b'""' * (MB // 2 - 1), 400),
    "1 MB of quotes without an end": (b'"' + rb"\"" * (MB // 2 - 1), 400),
    "1 MB of wrong levels": (
        orjson.dumps(body()).replace(b'["NS1","NESTED1"]', b"[" + b"0," * 90_000 + b"0]"),
        400,
    ),
    "900 levels": (b'{"a":' * 900 + b"1" + b"}" * 900, 400),
    "a text of 900 KB": (orjson.dumps(body("T2", properties={"note": "x" * 900_000})), 202),
    "members of 900 KB": (wide(90_000), 202),
}


@contextmanager
def connected(address: str) -> Iterator[httpx.Client]:
    """A client with its access token."""
    with httpx.Client(base_url=address, timeout=60) as client:
        form = {"grant_type": "client_credentials", "client_id": "polaris", "client_secret": SECRET}
        granted = client.post(f"{API}/v1/oauth/tokens", data=form)
        assert granted.status_code == 200, granted.text
        client.headers["Authorization"] = f"Bearer {granted.json()['access_token']}"
        yield client


@pytest.mark.parametrize("name", BODIES)
def test_a_body_costs_nobody_else_anything(service: tuple[DelegationProcess, str], name: str) -> None:
    content, status = BODIES[name]
    process, address = service
    with connected(address) as client:
        bystander = httpx.Client(headers=client.headers)
        requests = [
            bystander.build_request("GET", f"{address}{path}") for path in ("/livez", f"{API}/v1/tasks")
        ]
        with bystander, watched(process.process.pid, bystander, requests) as watch:
            try:
                answer = client.post(f"{API}/v1/tasks", content=content)
            except httpx.WriteError:  # it does not read what is left
                assert status == 413
            else:
                assert answer.status_code == status, answer.text[:300]
                assert len(answer.text) < 5_000
    watch.check(growth=150 * MB)


def test_heartbeats_of_a_worker_in_the_process_go_on(service: tuple[DelegationProcess, str]) -> None:
    _, address = service
    with connected(address) as client, ThreadPoolExecutor(4) as attackers:
        task = client.post(f"{API}/v1/tasks", json=body("beating")).json()["delegation_task_id"]
        stored: set[int] = set()

        def has_beaten() -> bool:
            shown = client.get(f"{API}/v1/tasks/{task}").json()
            assert shown["attempt_count"] <= 1, shown
            stored.update([shown["progress"]["files_done"]] if shown["progress"] else [])
            return len(stored) > 3  # heartbeats store what was reported last

        ended = Event()

        def attack() -> None:
            while not ended.is_set():
                client.post(f"{API}/v1/tasks", content=BODIES["1 MB of wrong levels"][0])

        attacks = [attackers.submit(attack) for _ in range(4)]
        try:
            until(has_beaten)
        finally:
            ended.set()
            client.post(f"{API}/v1/tasks/{task}/cancel")
        for each in attacks:
            each.result()


def test_texts_are_no_structure() -> None:
    check_shape(b'{"a":"' + b"[" * 90_000 + rb"\"[[" + b'"}', MB)
    check_shape(b'"' + b"\\", MB)
    check_shape(b"[" * MOST_LEVELS + b"]" * MOST_LEVELS + b"[[[", MB)
    with pytest.raises(MalformedRequest, match="nested more than 100 levels"):
        check_shape(rb'"\\"' + b"[" * (MOST_LEVELS + 1), MB)
    with pytest.raises(MalformedRequest, match="more than 200,000 members"):
        check_shape(b"," * 200_001, 2 * MB)
