"""Some time without a database: a service, two workers, callers and submissions, watched meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
from support.process.installed import Site
from support.process.random_cases import times
from support.servers.delegation import KEY, SECRET, body
from support.servers.delegation_processes import DelegationProcess, delegation_process
from support.servers.postgres import PostgresServer

from sluicegate_testing.secrets import keep_secret

SECONDS = 60 if times() > 1 else 20
SIGNING_KEY = 2 * KEY.decode()
VENDED = "a vended secret that nobody may see"
# What runs when the database goes, four tasks on each worker: by what comes first meanwhile.
RUNNING = {
    "acquiring": {"acquire": "10"},
    "at-a-stage": {"stage": "10"},
    "at-its-end": {"end": "10"},
    "going-on": {"until_told": "yes"},
}
EACH, WAITING = 2, 6

PURGE = '''
import time
from pathlib import Path

import anyio
from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, TaskProgress, TaskResult
from sluicegate.api import hookimpl

class Config(PluginConfig):
    lake: str

class Purge(TaskExecutor):
    """Does nothing but take its time, and writes down what it does."""

    def __init__(self, config, context):
        self.lake = Path(config.lake)

    def note(self, task, what):
        with (self.lake / task.table.name).open("a") as notes:
            notes.write(what + "\\n")

    async def acquire(self, task):
        self.note(task, f"attempt {task.attempt}")
        await anyio.sleep(float(task.properties.get("acquire", "0")))

    async def run(self, task, resources, run):
        assert task.config
        if "stage" in task.properties and "content" not in task.stages:
            await anyio.sleep(float(task.properties["stage"]))
            self.note(task, "content")
            await run.finish_stage("content")
        await anyio.sleep(float(task.properties.get("end", "0")))
        begun = time.monotonic()
        while "until_told" in task.properties and not (self.lake / "go-on").exists():
            run.report(TaskProgress("waiting", int(time.monotonic() - begun)))
            await anyio.sleep(0.2)
        self.note(task, "done")
        return TaskResult("the table was purged", 7, 70)

@hookimpl
def sluicegate_register_task_executors():
    return [TaskExecutorType("purge", ("TABLE_PURGE",), Config, Purge)]
'''


Records = dict[str, dict[str, Any]]
"""Of tasks, by table, as the API shows them."""


@dataclass
class Outage:
    """What was seen."""

    folder: Path
    answers: dict[str, httpx.Response] = field(default_factory=dict)
    before: Records = field(default_factory=dict)
    refused: dict[str, httpx.Response] = field(default_factory=dict)
    ready: list[int] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    records: Records = field(default_factory=dict)
    histories: dict[str, list[str]] = field(default_factory=dict)
    logs: str = ""
    exit_codes: list[int] = field(default_factory=list)

    def notes(self, table: str) -> list[str]:
        """What the executors did for a table."""
        return (self.folder / "lake" / table).read_text().split("\n")[:-1]


async def watch_outage(folder: Path, postgres: PostgresServer) -> Outage:
    """Stop the database for a while when everything is busy, and wait until all has ended."""
    keep_secret(SECRET, VENDED, SIGNING_KEY)
    outage = Outage(folder)
    (folder / "lake").mkdir()
    configuration = {
        "database": postgres.new_database(),
        "signing_key": SIGNING_KEY,
        "delegation": {
            "realm": "prod",
            "clients": {"polaris": {"secret": {"env": "POLARIS_SECRET"}}},
            "executors": [{"type": "purge", "lake": str(folder / "lake")}],
            "lease": {"heartbeat": "1s"},
            "worker": {"poll_interval": "1s", "concurrency": 4},
        },
    }
    file = folder / "gateway.yaml"
    file.touch(0o600)
    file.write_text(json.dumps(configuration))
    Site(folder).install("purge", PURGE)
    with ExitStack() as stack:
        start = (("serve", "--port", "0"), ("worker",), ("worker",))
        running = [stack.enter_context(delegation_process(folder, folder, *each)) for each in start]
        address = await asyncio.to_thread(running[0].address)
        async with httpx.AsyncClient(base_url=address, timeout=180) as http:
            await _go_through(outage, _Catalog(http), postgres)
        outage.exit_codes = [each.stop(signal.SIGTERM) for each in running]
        outage.logs = "".join(map(DelegationProcess.said, running))
    return outage


@dataclass(frozen=True)
class _Catalog:
    """Hands tasks over."""

    http: httpx.AsyncClient

    async def log_in(self) -> None:
        form = {
            "grant_type": "client_credentials",
            "client_id": "polaris",
            "client_secret": SECRET,
        }
        answer = await self.http.post("/v1/oauth/tokens", data=form)
        token = answer.json()["access_token"]
        keep_secret(token)
        self.http.headers["Authorization"] = f"Bearer {token}"

    async def call(self, answers: dict[str, httpx.Response], table: str, **properties: str) -> None:
        answers[table] = await self.hand_over(table, "/execute/synchronous", **properties)

    async def hand_over(self, table: str, path: str = "", **properties: str) -> httpx.Response:
        parameters: dict[str, Any] = {
            "properties": properties,
            "config": {"s3.secret-access-key": VENDED},
        }
        payload = body(table, correlation_id=f"drop-{table}", **parameters)
        return await self.http.post(f"/v1/tasks{path}", json=payload)

    async def check_health(self, outage: Outage) -> None:
        for name, statuses in (("readyz", outage.ready), ("livez", outage.live)):
            answer = await self.http.get(str(self.http.base_url.join(f"/{name}")))
            statuses.append(answer.status_code)

    async def records(self) -> Records:
        answer = await self.http.get("/v1/tasks", params={"limit": 1000})
        return {
            each["task_payload"]["operation_parameters"]["table_identity"]["table_name"]: each
            for each in answer.json().get("tasks", ())
        }

    async def history(self, task: str) -> list[str]:
        answer = await self.http.get(f"/v1/tasks/{task}/history")
        return [each["status"] for each in answer.json()["versions"]]


async def _go_through(outage: Outage, catalog: _Catalog, postgres: PostgresServer) -> None:
    await catalog.log_in()
    await catalog.check_health(outage)
    async with anyio.create_task_group() as callers:

        def call(table: str, properties: dict[str, str]) -> None:
            callers.start_soon(lambda: catalog.call(outage.answers, table, **properties))

        for name, properties in RUNNING.items():
            for number in range(EACH):
                call(f"{name}-{number}", properties)
        await _until(catalog, lambda records: _attempts(records) == EACH * len(RUNNING))
        for number in range(WAITING):
            call(f"waiting-{number}", {})
        everything = EACH * len(RUNNING) + WAITING
        outage.before = await _until(catalog, lambda records: len(records) == everything)
        await asyncio.to_thread(postgres.crash)
        await _look_around(outage, catalog)
        await asyncio.to_thread(postgres.start_again)
        await _until(catalog, _heartbeats_went_on)
        await catalog.check_health(outage)
        for table in outage.refused:
            assert (await catalog.hand_over(table)).status_code == 202
        (outage.folder / "lake" / "go-on").touch()
    outage.records = await _until(catalog, _all_ended)
    for table, record in outage.records.items():
        outage.histories[table] = await catalog.history(record["task_id"])


async def _look_around(outage: Outage, catalog: _Catalog) -> None:
    """Hand something over each second, until the time is over."""
    back = anyio.current_time() + SECONDS
    while anyio.current_time() < back:
        table = f"meanwhile-{len(outage.refused)}"
        outage.refused[table] = await catalog.hand_over(table)
        await catalog.check_health(outage)
        await anyio.sleep(1)


async def _until(catalog: _Catalog, condition: Callable[[Records], bool]) -> Records:
    """The records, once they are as they will be."""
    with anyio.fail_after(120):
        while True:
            records = await catalog.records()
            if condition(records):
                return records
            await anyio.sleep(0.2)


def _attempts(records: Records) -> int:
    return sum(each["attempt_count"] for each in records.values())


def _heartbeats_went_on(records: Records) -> bool:
    going = [each["progress"] for table, each in records.items() if table.startswith("going-on")]
    return bool(going) and all(each and each["files_done"] >= SECONDS for each in going)


def _all_ended(records: Records) -> bool:
    return all(each["status"] in ("SUCCESS", "FAILURE") for each in records.values())
