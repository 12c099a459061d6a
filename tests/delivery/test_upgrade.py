"""The released version 0.1.0 and this one, one after the other and both at once, on one database."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from support.gateways.folder_site import LISTING, QUERY, Site, load
from support.gateways.gateway import RunningGateway, run_here, running_gateway, sluicegate
from support.process.installed import installed_site
from support.servers.delegation import SECRET, body, make_table
from support.servers.delegation_processes import DelegationProcess, delegation_process, until
from support.servers.postgres import PostgresServer
from support.servers.serving import script

ROOT = Path(__file__).resolve().parents[2]
# The states of the repository that became 0.1.0, and 0.2.0.
RELEASED = "f5cc950"
RELEASED_0_2 = "4860b4ed"
SOURCES = ("gateway", "plugins/file/src", "catalog_adapters/paths/src")
RELEASED_SCHEMA = "0007"
SECONDS = 60
REFERENCE = "docs/reference/configuration.md"
UPGRADING = ROOT / "docs" / "operators" / "upgrading.md"
PURGE = """
import anyio
from pathlib import Path
from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, TaskResult, hookimpl

class Config(PluginConfig):
    lake: str
    pause: float

class Purge(TaskExecutor):
    def __init__(self, config, context):
        self.config = config
    async def run(self, task, resources, run):
        for file in sorted((Path(self.config.lake) / task.table.name).iterdir()):
            file.unlink(missing_ok=True)
            await anyio.sleep(self.config.pause)
        return TaskResult("the table was purged", 0, 0)

@hookimpl
def sluicegate_register_task_executors():
    return [TaskExecutorType("purge", ("TABLE_PURGE",), Config, Purge)]
"""


def git(*arguments: str) -> bytes:
    """What git prints about the repository, whose history the test needs."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("the history of the repository does not contain a released version")
    return done.stdout


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The `PYTHONPATH` of 0.1.0."""
    return unpacked(RELEASED, tmp_path_factory.mktemp("released"))


def unpacked(version: str, folder: Path) -> str:
    """Unpack the sources of a version. Returns its `PYTHONPATH`."""
    packed = git("archive", version, "--", *SOURCES)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return os.pathsep.join(str(folder / source) for source in SOURCES)


@contextmanager
def commands_of(released: str) -> Iterator[Callable[..., str]]:
    """Let commands be those of the released version; what runs one."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", released)
        yield partial(sluicegate, fresh=True)


@contextmanager
def released_gateway(folder: Path, released: str) -> Iterator[RunningGateway]:
    with running_gateway(folder, env={"PYTHONPATH": released}, fresh=True) as gateway:
        yield gateway


def assert_cannot_start(folder: Path, released: str) -> None:
    """The released version refuses the database of this version."""
    done = subprocess.run(
        [script(), "serve", "--port", "0"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": released},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "is newer than this version supports" in done.stderr


def next_page(client: httpx.Client) -> str:
    token: str = client.get(LISTING).json()["nextPageToken"]
    return f"{LISTING}&pageToken={token}"


def test_the_database_of_the_released_version_is_migrated(tmp_path: Path, released: str) -> None:
    with commands_of(released) as run:
        site = Site(tmp_path, {}, run)
        assert "0.1.0" in run(tmp_path, "--version")
    with released_gateway(tmp_path, released) as old, site.client(old) as client:
        assert client.post(QUERY, json={}).status_code == 200
        page = next_page(client)
    with running_gateway(tmp_path) as new, site.client(new) as client:
        assert client.post(QUERY, json={}).status_code == 200
        assert client.get(page).status_code == 200
    assert_cannot_start(tmp_path, released)


def test_both_versions_serve_one_database_during_a_rolling_upgrade(
    tmp_path: Path, released: str, postgres: PostgresServer
) -> None:
    with commands_of(released) as run:
        settings = {"database": postgres.new_database(), "signing_key": "k" * 64}
        site = Site(tmp_path, settings, run)
    with ExitStack() as stack:
        old = stack.enter_context(released_gateway(tmp_path, released))
        with load(site, old) as statuses:
            new = stack.enter_context(running_gateway(tmp_path))  # migrates the database
            clients = [stack.enter_context(site.client(gateway)) for gateway in (old, new)]
            pages = [next_page(client) for client in clients]
            for client, page in zip(clients, reversed(pages), strict=True):
                assert client.post(QUERY, json={}).status_code == 200
                assert client.get(page).status_code == 200  # which the other version began
        assert set(statuses) == {200}
        share_a_schema(site)
        for client in clients:
            wait_until_status(client, "/shares/more/schemas", 200)
            assert client.get("/shares/more/schemas").json()["items"][0]["name"] == "all"
        sluicegate(tmp_path, "recipient", "revoke", "acme")
        for client in clients:
            wait_until_status(client, LISTING, 401)
    assert_cannot_start(tmp_path, released)


def test_processes_of_0_2_0_and_of_this_version_write_one_audit_log(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> None:
    released = unpacked(RELEASED_0_2, tmp_path_factory.mktemp("released"))
    with commands_of(released) as run:
        settings = {"database": postgres.new_database(), "signing_key": "k" * 64}
        site = Site(tmp_path, settings, run)
    answered: dict[str, int] = {}
    with ExitStack() as stack:
        old = stack.enter_context(released_gateway(tmp_path, released))
        new = stack.enter_context(running_gateway(tmp_path))  # migrates the database
        clients = [stack.enter_context(site.client(gateway)) for gateway in (old, new)]
        for number in range(40):
            answer = clients[number % 2].get(LISTING)
            answered[answer.headers["x-request-id"]] = number
    found = json.loads(sluicegate(tmp_path, "audit", "search", "--action", "listTables", "--json"))
    records = [each for each in found if each["request_id"] in answered]
    numbers = [answered[each["request_id"]] for each in records]
    assert numbers == sorted(answered.values(), reverse=True)
    assert {each["chain"] for each in records if answered[each["request_id"]] % 2 == 0} == {0}
    assert 0 not in {each["chain"] for each in records if answered[each["request_id"]] % 2}
    verified = sluicegate(tmp_path, "audit", "verify")
    assert "database: verified records 1 to" in verified
    assert "database 1: verified records 1 to" in verified


def share_a_schema(site: Site) -> None:
    """Add a share with an entire schema, by this version."""
    file = site.folder / "shares.yaml"
    declared = json.loads(file.read_text())
    source = {"catalog": "raw", "schema": "elsewhere"}
    declared["shares"]["more"] = {"schemas": {"all": {"from": source}}}
    declared["recipients"]["acme"]["shares"].append("more")
    file.write_text(json.dumps(declared))
    sluicegate(site.folder, "apply", "shares.yaml", "--offline")


def wait_until_status(client: httpx.Client, path: str, status: int) -> None:
    """Wait until a gateway has noticed a change."""
    until = time.monotonic() + SECONDS
    while client.get(path).status_code != status:
        assert time.monotonic() < until
        time.sleep(0.05)


def keys(reference: str) -> set[str]:
    """The settings that a page describes, such as `server.port`."""
    found: set[str] = set()
    for section in re.split(r"^## ", reference, flags=re.MULTILINE)[1:]:
        name = re.match(r"`([^`]+)`(.*)", section)
        prefix = "".join(name.groups()).replace("`", "") + "." if name else ""
        shared = "".join(re.findall(r"^(`.+`): see \[", section, re.MULTILINE))
        own = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
        found |= {f"{prefix}{key}" for key in (*own, *re.findall(r"`([^`]+)`", shared))}
    return found


def test_settings_of_the_released_version_are_accepted_or_named_on_the_page() -> None:
    before = keys(git("show", f"{RELEASED}:{REFERENCE}").decode())
    assert {"public_url", "server.port", "delegation.lease.ttl"} <= before
    page = UPGRADING.read_text(encoding="utf-8")
    removed = before - keys((ROOT / REFERENCE).read_text(encoding="utf-8"))
    assert [key for key in sorted(removed) if f"`{key}`" not in page] == []


@contextmanager
def released_worker(folder: Path, path: str) -> Iterator[DelegationProcess]:
    """A worker of the released version. It can't be forked from a process of this version."""
    log = folder / "released.gateway.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [script(), "delegation", "worker"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            stdout=output,
            stderr=output,
        )
    try:
        yield DelegationProcess(process, log)
    finally:
        process.kill()
        process.wait()


def schema(database: Path) -> str:
    """The last migration of a SQLite database."""
    with closing(sqlite3.connect(database)) as connection:
        (found,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found)


def test_a_task_of_a_worker_of_the_released_version_continues_on_this_one(
    tmp_path: Path, released: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARIS_SECRET", SECRET)
    settings = {
        "database": f"sqlite:///{tmp_path}/tasks.db",
        "delegation": {
            "realm": "prod",
            "clients": {"polaris": {"secret": {"env": "POLARIS_SECRET"}}},
            "executors": [{"type": "purge", "lake": str(tmp_path / "lake"), "pause": 0.1}],
            "worker": {"poll_interval": "1s", "drain_timeout": "0s"},
        },
    }
    (tmp_path / "gateway.yaml").write_text(json.dumps(settings))
    (tmp_path / "payload.json").write_text(json.dumps(body("T1")))
    make_table(tmp_path / "lake", "T1", 100)
    (tmp_path / "site").mkdir()
    table = tmp_path / "lake" / "T1"

    def status() -> tuple[str, int]:
        task = json.loads(run_here(tmp_path, "tasks", "show", task_id))
        return task["status"], task["attempt_count"]

    with ExitStack() as stack:
        site = stack.enter_context(installed_site(tmp_path / "site"))
        site.install("purge", PURGE)
        path = os.pathsep.join((released, str(site.folder)))
        with released_worker(tmp_path, path) as old:
            until(lambda: "runs tasks" in old.said())
            assert schema(tmp_path / "tasks.db") == RELEASED_SCHEMA
            # Opens the database with this version, which migrates it.
            task_id = run_here(tmp_path, "tasks", "submit", "payload.json").strip()
            until(lambda: len(list(table.iterdir())) < 100)
            assert old.stop(signal.SIGTERM) == 0, old.said()
        assert status() == ("RETRY_SCHEDULED", 0)
        left = len(list(table.iterdir()))
        assert left > 0
        stack.enter_context(delegation_process(tmp_path, site.folder, "worker"))
        until(lambda: status() == ("SUCCESS", 1))
    assert list(table.iterdir()) == []
