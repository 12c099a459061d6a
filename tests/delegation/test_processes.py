"""Workers as processes: killed, drained; and the commands, as an operator uses them."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.process.installed import installed_site
from support.servers.delegation import API, SECRET, body, make_table
from support.servers.delegation_processes import DelegationProcess, delegation_process, until

from sluicegate.cli.main import run

PURGE = """
import anyio
from pathlib import Path
from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, TaskProgress, TaskResult
from sluicegate.api import hookimpl

class Config(PluginConfig):
    lake: str
    pause: float = 0.0

class Purge(TaskExecutor):
    def __init__(self, config, context):
        self.config = config
    async def run(self, task, resources, run):
        folder, done = Path(self.config.lake) / task.table.name, 0
        for file in sorted(folder.glob("*.parquet")):
            await run.check_lease()
            file.unlink(missing_ok=True)
            done += 1
            run.report(TaskProgress("content", done))
            await anyio.sleep(self.config.pause)
        await run.finish_stage("content")
        (folder / "metadata.json").unlink(missing_ok=True)
        return TaskResult("the table was purged", done, done * 10)

@hookimpl
def sluicegate_register_task_executors():
    return [TaskExecutorType("purge", ("TABLE_PURGE",), Config, Purge)]
"""
Capture = pytest.CaptureFixture[str]


class Lake:
    """Folders that are tables, a configuration and the commands that work on both."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder = folder
        self._site = site

    def configure(self, pause: float, **worker: Any) -> None:
        """Write the configuration."""
        lines = {
            "database": f"sqlite:///{self.folder}/tasks.db",
            "delegation": {
                "realm": "prod",
                "clients": {"polaris": {"secret": {"env": "POLARIS_SECRET"}}},
                "executors": [{"type": "purge", "lake": str(self.folder), "pause": pause}],
                "lease": {"ttl": "5s", "heartbeat": "1s"},
                "worker": {"poll_interval": "1s", **worker},
            },
        }
        (self.folder / "gateway.yaml").write_text(json.dumps(lines))

    def process(self, *arguments: str) -> AbstractContextManager[DelegationProcess]:
        """A command of its own."""
        return delegation_process(self.folder, self._site, *arguments)

    def files(self, table: str) -> int:
        """How many files a table has left."""
        return len(list((self.folder / table).iterdir()))


@pytest.fixture
def lake(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: Any) -> Iterator[Lake]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLARIS_SECRET", SECRET)
    with installed_site(tmp_path_factory.mktemp("site")) as site:
        site.install("purge", PURGE)
        for name in ("T1", "T2"):
            make_table(tmp_path, name, 40)
        yield Lake(tmp_path, site.folder)


def command(capture: Capture, *arguments: str) -> str:
    """What a command prints."""
    assert run(arguments) == 0, capture.readouterr().err
    return capture.readouterr().out.strip()


def submit(lake: Lake, capture: Capture, table: str = "T1") -> str:
    """Hand a purge over."""
    (lake.folder / "payload.json").write_text(json.dumps(body(table)))
    return command(capture, "tasks", "submit", "payload.json")


def shown(capture: Capture, task_id: str) -> dict[str, Any]:
    """A task's record."""
    record: dict[str, Any] = json.loads(command(capture, "tasks", "show", task_id))
    return record


def test_a_killed_worker_loses_its_task_to_another(lake: Lake, capsys: Capture) -> None:
    lake.configure(pause=0.1)
    task_id = submit(lake, capsys)
    with lake.process("worker") as first:
        until(lambda: lake.files("T1") < 38)
        first.stop(signal.SIGKILL)
    assert 0 < lake.files("T1") < 40
    lake.configure(pause=0)
    with lake.process("worker"):
        until(lambda: shown(capsys, task_id)["status"] == "SUCCESS")
    record = shown(capsys, task_id)
    assert (record["attempt_count"], record["stages"]) == (2, ["content"])
    assert [each["status"] for each in record["versions"]] == [
        "SUBMITTED",
        *["ACQUIRING_RESOURCES", "RUNNING"] * 2,
        "SUCCESS",
    ]
    assert (lake.files("T1"), lake.files("T2")) == (0, 41)


def suspend(worker: DelegationProcess, database: Path) -> None:
    """Suspend a worker at a moment when it does not lock the database."""
    while True:
        worker.process.send_signal(signal.SIGSTOP)
        try:
            with closing(sqlite3.connect(database, timeout=0.2)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                return
        except sqlite3.OperationalError:
            worker.process.send_signal(signal.SIGCONT)
            time.sleep(0.05)


def test_a_suspended_worker_deletes_nothing_once_another_one_has_its_task(
    lake: Lake, capsys: Capture
) -> None:
    lake.configure(pause=0.3)
    task_id = submit(lake, capsys)
    with lake.process("worker") as first:
        until(lambda: lake.files("T1") < 39)
        suspend(first, lake.folder / "tasks.db")
        left = lake.files("T1")
        lake.configure(pause=3600, drain_timeout="0s")
        with lake.process("worker"):
            until(lambda: lake.files("T1") < left)
            first.process.send_signal(signal.SIGCONT)
            until(lambda: "another worker has" in first.said())
            assert first.stop(signal.SIGTERM) == 0
            assert lake.files("T1") == left - 1
    assert shown(capsys, task_id)["attempt_count"] == 2


@pytest.mark.parametrize(
    ("drain_timeout", "status", "attempts"), [("60s", "SUCCESS", 1), ("0s", "RETRY_SCHEDULED", 0)]
)
def test_a_worker_that_is_stopped_drains(
    lake: Lake, capsys: Capture, drain_timeout: str, status: str, attempts: int
) -> None:
    lake.configure(pause=0.05, drain_timeout=drain_timeout)
    task_id, waiting = submit(lake, capsys), submit(lake, capsys, "T2")
    with lake.process("worker") as worker:
        until(lambda: lake.files("T1") < 38)
        assert worker.stop(signal.SIGTERM) == 0
    record = shown(capsys, task_id)
    assert (record["status"], record["attempt_count"]) == (status, attempts)
    assert (lake.files("T1") == 0) == (status == "SUCCESS")
    assert shown(capsys, waiting)["status"] == "SUBMITTED"


def test_the_service_with_a_worker_takes_no_task_while_it_waits_for_answers(
    lake: Lake, capsys: Capture
) -> None:
    lake.configure(pause=0.05, drain_timeout="60s")
    with lake.process("serve", "--port", "0", "--with-worker") as service:
        address = service.address()
        form = {"grant_type": "client_credentials", "client_id": "polaris", "client_secret": SECRET}
        token = httpx.post(f"{address}/v1/oauth/tokens", data=form).json()["access_token"]
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(
                httpx.post,
                f"{address}/v1/tasks/execute/synchronous",
                json=body("T1"),
                headers={"Authorization": f"Bearer {token}"},
                timeout=60,
            )
            until(lambda: lake.files("T1") < 38)
            waiting = submit(lake, capsys, "T2")
            assert service.stop(signal.SIGTERM) == 0
            assert answer.result().json()["status"] == "COMPLETED_SUCCESS"
    assert shown(capsys, waiting)["status"] == "SUBMITTED"


def test_the_service_with_a_worker_answers_a_purge(lake: Lake) -> None:
    lake.configure(pause=0)
    with lake.process("serve", "--port", "0", "--with-worker") as service:
        address = service.address()
        form = {"grant_type": "client_credentials", "client_id": "polaris", "client_secret": SECRET}
        token = httpx.post(f"{address}/v1/oauth/tokens", data=form).json()["access_token"]
        answer = httpx.post(
            f"{address}/v1/tasks/execute/synchronous",
            json=body("T1"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
        )
        assert service.stop(signal.SIGTERM) == 0
    assert address.endswith(API)
    assert answer.json()["execution_result"] == {"files_deleted": 40, "bytes_deleted": 400}
    assert (lake.files("T1"), lake.files("T2")) == (0, 41)


def test_tasks_are_listed_cancelled_and_tried_again(lake: Lake, capsys: Capture) -> None:
    lake.configure(pause=0)
    task_id = submit(lake, capsys)
    assert submit(lake, capsys) == task_id
    header, line = command(capsys, "tasks", "list").splitlines()
    assert header.split()[0] == "ID"
    assert line.split()[:5] == [task_id, "TABLE_PURGE", "prod", "SUBMITTED", "0"]
    assert command(capsys, "tasks", "cancel", task_id) == "cancelled"
    [listed] = json.loads(command(capsys, "tasks", "list", "--status", "FAILURE", "--json"))
    assert (listed["task_id"], listed["error_code"]) == (task_id, "TASK_CANCELLED")
    retried = json.loads(command(capsys, "tasks", "retry", task_id, "--json"))
    assert (retried["task_id"], retried["status"]) == (task_id, "SUBMITTED")
    assert command(capsys, "tasks", "list", "--realm", "elsewhere").split() == header.split()
    assert command(capsys, "tasks", "prune", "--older-than", "0s") == "pruned 0 tasks"
    other = submit(lake, capsys, "T2")
    command(capsys, "tasks", "cancel", other)
    assert json.loads(command(capsys, "tasks", "prune", "--json")) == {"pruned": 0}
    time.sleep(0.01)
    assert command(capsys, "tasks", "prune", "--older-than", "0s") == "pruned 1 tasks"
    for arguments, told in (
        (("show", "nothing"), "there is no task 'nothing'"),
        (("retry", task_id), "only failed tasks can be retried; this one is SUBMITTED"),
    ):
        assert run(("tasks", *arguments)) == 1
        assert told in capsys.readouterr().err


def test_a_task_that_could_not_be_run_is_not_taken(lake: Lake, capsys: Capture) -> None:
    lake.configure(pause=0)
    first = submit(lake, capsys)
    missing = "common_payload: it is missing; operation_parameters: it is missing"
    wrong = body() | {"operation_parameters": {"table_identity": {"namespace_levels": "eu"}}}
    for payload, told in (
        ("{}", missing),
        ("[]", "the payload: expected an object"),
        ('{"common_payload":\n oops}', "the payload is not JSON, from line 2, column 2 on"),
        (json.dumps(wrong), "operation_parameters.table_identity.namespace_levels: expected a list"),
        (
            json.dumps(body(operation="TABLE_PRUGE")),
            "operation 'TABLE_PRUGE' is not offered here; did you mean 'TABLE_PURGE'?",
        ),
        (
            json.dumps(body(properties={"drop_catalog_entry": True})),
            "operation_parameters.properties.drop_catalog_entry: expected a string, in quotes",
        ),
        (
            json.dumps(body(properties={"drop_catalog_entry": "true"})),
            f"another task for this table is not finished yet (TABLE_PURGE {first}: SUBMITTED)",
        ),
    ):
        (lake.folder / "payload.json").write_text(payload)
        assert run(("tasks", "submit", "payload.json")) == 1
        assert told in capsys.readouterr().err
    assert [task["task_id"] for task in json.loads(command(capsys, "tasks", "list", "--json"))] == [
        first
    ]


def test_the_list_says_what_a_running_task_is_about(lake: Lake, capsys: Capture) -> None:
    lake.configure(pause=0.1)
    task_id = submit(lake, capsys)
    command(capsys, "tasks", "cancel", task_id)
    assert shown(capsys, task_id)["result_summary"] == "the task was cancelled"
    command(capsys, "tasks", "retry", task_id)
    assert shown(capsys, task_id)["result_summary"] is None
    with lake.process("worker") as worker:
        until(lambda: shown(capsys, task_id)["progress"] is not None)
        assert "runs tasks (stop with Ctrl-C): TABLE_PURGE" in worker.said()
        _, line = command(capsys, "tasks", "list").splitlines()
        assert "RUNNING  1         content " in line
        suspend(worker, lake.folder / "tasks.db")
        assert "stops it at its next heartbeat" in command(capsys, "tasks", "cancel", task_id)
        _, line = command(capsys, "tasks", "list").splitlines()
        assert "RUNNING (to be cancelled)" in line
        [working] = json.loads(command(capsys, "workers", "list", "--json"))
        [current] = working["tasks"]
        assert f"-{worker.process.pid}-" in working["worker"]
        assert (current["task_id"], current["cancel_requested"]) == (task_id, True)
        assert current["progress"]["stage"] == "content"
        _, line = command(capsys, "workers", "list").splitlines()
        assert line.split()[:4] == [
            *(working["worker"], task_id, "TABLE_PURGE", "prod_catalog.NS1.NESTED1.T1")
        ]
        until(lambda: "(expired)" in command(capsys, "workers", "list"))
        worker.process.send_signal(signal.SIGCONT)
        until(lambda: shown(capsys, task_id)["status"] in ("FAILURE", "SUCCESS"))
    assert json.loads(command(capsys, "workers", "list", "--json")) == []
