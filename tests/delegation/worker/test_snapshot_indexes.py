"""A worker's executors build snapshot indexes, which it signs, in the folder of the configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.servers.delegation import CATALOG, KEY, PURGE, Desk, payload
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.api import (
    DelegatedTask,
    ExecutorContext,
    PluginConfig,
    SnapshotIndexBuild,
    TaskExecutor,
    TaskExecutorType,
    TaskFailed,
    TaskResult,
    TaskRun,
)
from sluicegate.config import Settings
from sluicegate.delegation.service import Base
from sluicegate.plugins import ConfiguredExecutor, Registry, configure

FILES = 5


class Indexing(TaskExecutor):
    """Builds the index of the table that its task names."""

    def __init__(self, context: ExecutorContext, seen: list[SnapshotIndexBuild | None]) -> None:
        self._indexes = context.snapshot_indexes
        self._seen = seen

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Build it, unless the table's location is forbidden."""
        if self._indexes is None:
            return TaskResult("no folder")
        built = await self._indexes.build(
            "raw",
            task.table.name,
            check_location=_check,
            before_publication=run.check_lease,
        )
        self._seen.append(built)
        return TaskResult("built")


def _check(location: str) -> None:
    if location.endswith("/forbidden"):
        raise TaskFailed(f"{location} is forbidden", error_code="NOT_GRANTED")


class Worker:
    """A worker of a lake with a folder of indexes."""

    def __init__(self, desk: Desk, folder: Path, **index: Any) -> None:
        self.desk = desk
        self.folder = folder
        self.index = {"location": f"file://{folder}/index", "min_files": FILES, **index}
        self.built: list[SnapshotIndexBuild | None] = []
        (folder / "lake").mkdir(exist_ok=True)

    def table(self, name: str, files: int = FILES) -> DeltaFolder:
        """A table in the lake."""
        table = DeltaFolder(self.folder / "lake" / name)
        table.commit(0, protocol(), metadata(), *(add(f"f{number}") for number in range(files)))
        return table

    async def run(self, name: str) -> Any:
        """Run a task for a table, and return its record."""
        location = f"file://{self.folder}/lake/{name}"
        task = await self.desk.queue.submit(payload(location), "polaris")
        async with self._base().worker() as worker, anyio.create_task_group() as group:
            group.start_soon(worker.run)
            ended = await self.desk.ended(task.id)
            worker.drain()
        return ended

    def _executor(self, _: PluginConfig, context: ExecutorContext) -> TaskExecutor:
        return Indexing(context, self.built)

    def _base(self) -> Base:
        sections = {
            "catalogs": {"raw": {"type": "paths"}},
            "storage": [{"type": "file", "prefix": f"file://{self.folder}/lake/"}],
            "signing_key": KEY.decode() * 2,
            "index": self.index,
        }
        settings = Settings.model_validate(sections)
        registry = Registry.load(settings)
        kind = TaskExecutorType("indexing", (PURGE,), PluginConfig, self._executor)
        executors = (ConfiguredExecutor("indexing-1", kind, PluginConfig()),)
        configured = replace(configure(settings, registry), executors=executors)
        delegation = {
            "worker": {"poll_interval": 1, "drain_timeout": 0},
            "realms": {"prod": {"operations": [PURGE], "catalogs": [CATALOG]}},
        }
        settings = Settings.model_validate({**sections, "delegation": delegation})
        desk = self.desk
        return Base(settings, registry, configured, desk.store, desk.cipher, desk.queue)


@pytest.fixture
def worker(desk: Desk, tmp_path: Path) -> Worker:
    return Worker(desk, tmp_path)


async def test_an_executor_builds_and_continues_an_index(worker: Worker) -> None:
    table = worker.table("orders")
    assert (await worker.run("orders")).status == "SUCCESS"
    table.commit(1, add("new"))
    assert (await worker.run("orders")).status == "SUCCESS"
    assert worker.built == [
        SnapshotIndexBuild(0, FILES, 1, 1, "there was no index"),
        SnapshotIndexBuild(1, FILES + 1, 1, 1),
    ]
    (manifest,) = (worker.folder / "index").rglob("manifest.json")
    assert '"version\\":1' in manifest.read_text()


async def test_a_small_table_gets_no_index(worker: Worker) -> None:
    worker.table("small", FILES - 1)
    assert (await worker.run("small")).status == "SUCCESS"
    assert worker.built == [None]
    assert not [*(worker.folder / "index").rglob("*.*")]


@pytest.mark.parametrize(
    ("name", "code"), [("forbidden", "NOT_GRANTED"), ("nowhere", "INTERNAL_ERROR")]
)
async def test_a_table_that_cannot_be_indexed_fails_the_task(
    worker: Worker, name: str, code: str
) -> None:
    if name == "forbidden":
        worker.table(name)
    ended = await worker.run(name)
    assert (ended.status, ended.error_code) == ("FAILURE", code)
    assert not [*(worker.folder / "index").rglob("*.*")]


async def test_without_a_folder_no_index_is_built(desk: Desk, tmp_path: Path) -> None:
    worker = Worker(desk, tmp_path, location=None)
    worker.table("orders")
    assert (await worker.run("orders")).status == "SUCCESS"
    assert worker.built == []
