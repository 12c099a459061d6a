"""The delegation service in tests: payloads, executors that really do something, and workers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import orjson
from sqlalchemy import BigInteger, bindparam
from support.tasks.signals import Signal

from sluicegate.api import (
    DelegatedTask,
    PluginConfig,
    TaskExecutor,
    TaskExecutorType,
    TaskFailed,
    TaskProgress,
    TaskResult,
    TaskRun,
)
from sluicegate.config import Settings
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.retry_policy import RetryPolicies
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.delegation.service import Base
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate.delegation.worker.executor_thread import ExecutorThread
from sluicegate.delegation.worker.worker import Worker
from sluicegate.plugins import ConfiguredExecutor, ConfiguredInstances, Registry
from sluicegate.signing.keyring import KeyRing

PURGE = "TABLE_PURGE"
KEY = b"a key of the tests with many bytes"


def body(
    table: str = "T1",
    *,
    correlation_id: str | None = None,
    realm: str = "prod",
    operation: str = "SYNCHRONOUS_TABLE_PURGE",
    priority: int | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """A payload as the document's example has it."""
    common = {
        "operation_type": operation,
        "request_timestamp_utc": "2025-06-11T16:21:00Z",
        "realm_identifier": realm,
        "polaris_correlation_id": correlation_id,
        "priority": priority,
    }
    identity = {
        "table_entity_id": f"entity-of-{table}",
        "catalog_name": CATALOG,
        "namespace_levels": ["NS1", "NESTED1"],
        "table_name": table,
    }
    return {
        "common_payload": {name: value for name, value in common.items() if value is not None},
        "operation_parameters": {"table_identity": identity, **parameters},
    }


def payload(table: str = "T1", **parameters: Any) -> TaskPayload:
    """The same, read."""
    return TaskPayload.parse(orjson.dumps(body(table, **parameters)))


class FolderPurge(TaskExecutor):
    """Deletes a table that is a folder, file by file, and its `metadata.json` last."""

    def __init__(self, lake: Path, before_file: Callable[[], None] = lambda: None) -> None:
        self._lake = lake
        self._before_file = before_file
        self.attempts: list[int] = []

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Delete the files, then the metadata."""
        self.attempts.append(task.attempt)
        folder = self._lake / task.table.name
        files = sorted(folder.glob("*.parquet"))
        size = 0
        for number, file in enumerate(files):
            self._before_file()
            size += file.stat().st_size
            file.unlink()
            run.report(TaskProgress("content", number + 1, len(files), size))
            await anyio.lowlevel.checkpoint()
        if "content" not in task.stages:
            await run.finish_stage("content")
        (folder / "metadata.json").unlink(missing_ok=True)
        return TaskResult("the table was purged", files_deleted=len(files), bytes_deleted=size)


@dataclass
class Waiting(TaskExecutor):
    """Runs until it is let go; remembers what it was given."""

    started: Signal = field(default_factory=Signal)
    go: Signal = field(default_factory=Signal)
    configs: list[Any] = field(default_factory=list)
    cancelled: bool = False

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Wait."""
        self.configs.append(task.config)
        self.started.set()
        run.report(TaskProgress("waiting", 3, 10, 42))
        try:
            await self.go.wait()
        except BaseException:
            self.cancelled = True
            raise
        self.configs.append(await run.renewed_config())
        return TaskResult("waited")


class Failing(TaskExecutor):
    """Fails so many times, then succeeds."""

    def __init__(self, error: Exception, times: int = 10**6, *, acquiring: bool = False) -> None:
        self._error = error
        self._times = times
        self._acquiring = acquiring
        self.attempts: list[int] = []

    async def acquire(self, task: DelegatedTask) -> None:
        """Fail here, if so wished."""
        if self._acquiring:
            self._fail(task)

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Fail, or not any more."""
        if not self._acquiring:
            self._fail(task)
        return TaskResult("done", files_deleted=7, bytes_deleted=700)

    def _fail(self, task: DelegatedTask) -> None:
        self.attempts.append(task.attempt)
        if len(self.attempts) <= self._times:
            raise self._error


def transient() -> TaskFailed:
    """A failure that a retry may mend."""
    return TaskFailed("the store is busy", error_code="STORAGE_FAILED", retryable=True)


class RunningClock:
    """The database's clock, which goes on by itself, and faster when a test wishes so."""

    def __init__(self) -> None:
        self.ahead = 0
        self.now: Now = NOW + bindparam(
            None, callable_=lambda: self.ahead, type_=BigInteger(), unique=True
        )

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.ahead += int(seconds * 1000)


@dataclass
class Desk:
    """The parts of a service on one store, by one clock."""

    store: Store
    settings: DelegationSettings
    clock: RunningClock

    def __post_init__(self) -> None:
        self.cipher = PayloadCipher(KeyRing((KEY,)))
        self.queue = TaskQueue(self.store, self.cipher, now=self.clock.now)
        policies = RetryPolicies(self.settings, chance=lambda: 0.0)
        self.leases = Leases(self.store, self.settings, policies=policies, now=self.clock.now)

    @asynccontextmanager
    async def working(self, executor: TaskExecutor) -> AsyncIterator[Worker]:
        """A running worker that purges by this executor, drained at the end."""
        async with ExecutorThread.opened(self.settings.worker.cancel_timeout) as thread:
            executors = {PURGE: executor}
            worker = Worker(executors, self.leases, self.queue, self.cipher, self.settings, thread)
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                yield worker
                worker.drain()

    async def ended(self, task_id: str) -> Any:
        """The record of a task, once it has ended."""
        with anyio.fail_after(20):
            while True:
                found = await self.queue.ended([task_id])
                if found:
                    return found[0]
                await anyio.sleep(0.02)

    async def statuses(self, task_id: str) -> list[str]:
        """The states that a task was in."""
        return [version.status for version in await self.queue.history(task_id)]


def make_table(lake: Path, name: str, files: int) -> None:
    """A folder with so many files of ten bytes and a metadata file."""
    folder = lake / name
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"{number:04}.parquet").write_bytes(os.urandom(10))
    (folder / "metadata.json").write_text("{}")


SECRET = "the secret of the client polaris"
FOREIGN_SECRET = "the secret of the client other"
CLIENTS = {
    "polaris": {"secret": SECRET, "realms": ["prod", "stage"], "subjects": ["client-7"]},
    "other": {"secret": FOREIGN_SECRET, "realms": ["elsewhere"]},
}
CATALOG = "prod_catalog"
CATALOGS = (CATALOG, "stage_catalog")
LAKE = "s3://lake/"
GRANTED = {"catalogs": [CATALOG], "locations": [LAKE], "operations": [PURGE]}
REALMS = dict.fromkeys(("prod", "stage", "elsewhere"), GRANTED)
API = "/delegation-service/api"


class _NoConfig(PluginConfig):
    """An executor of the tests has no settings."""


def base_of(
    desk: Desk,
    executor: TaskExecutor,
    *,
    operations: tuple[str, ...] = (PURGE,),
    catalogs: tuple[str, ...] = CATALOGS,
    server: Mapping[str, Any] = MappingProxyType({}),
    limits: Mapping[str, Any] = MappingProxyType({}),
    **changed: Any,
) -> Base:
    """What a service and its workers share, with one executor that works on tables of its catalogs."""
    delegation = {
        "clients": CLIENTS,
        "realms": REALMS,
        "worker": {"poll_interval": 1, "drain_timeout": 0},
        **changed,
    }
    sections = {"delegation": delegation, "server": server, "limits": limits}
    settings = Settings.model_validate({**sections, "signing_key": KEY.decode() * 2})
    kind = TaskExecutorType(
        "folder", operations, _NoConfig, lambda config, context: executor, lambda config: catalogs
    )
    executors = (ConfiguredExecutor("folder-1", kind, _NoConfig()),)
    configured = ConfiguredInstances((), (), (), executors=executors)
    return Base(settings, Registry([]), configured, desk.store, desk.cipher, desk.queue)


@dataclass
class Service:
    """A service that answers in this process, and a client of it."""

    base: Base
    http: httpx.AsyncClient

    async def token(self, client: str = "polaris", secret: str = SECRET) -> str:
        """An access token of the service's own."""
        form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
        answer = await self.http.post(f"{API}/v1/oauth/tokens", data=form)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])

    async def log_in(self, client: str = "polaris", secret: str = SECRET) -> None:
        """Send an access token with each request from now on."""
        self.http.headers.pop("Authorization", None)
        self.http.headers["Authorization"] = f"Bearer {await self.token(client, secret)}"

    async def post(self, path: str, document: Any = None) -> httpx.Response:
        """Post a document to a path below `/v1/tasks`."""
        return await self.http.post(f"{API}/v1/tasks{path}", json=document)

    async def get(self, path: str, **query: Any) -> httpx.Response:
        """Get a path below `/v1/tasks`."""
        return await self.http.get(f"{API}/v1/tasks{path}", params=query)


@asynccontextmanager
async def running_service(
    desk: Desk, executor: TaskExecutor, *, with_worker: bool = True, **changed: Any
) -> AsyncIterator[Service]:
    """A service with a worker, to which the client `polaris` is logged in."""
    base = base_of(desk, executor, **changed)
    async with base.app() as app, base.worker() as worker:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
            service = Service(base, http)
            await service.log_in()
            running = asyncio.create_task(worker.run()) if with_worker else None
            yield service
            worker.drain()
            if running is not None:
                await running
