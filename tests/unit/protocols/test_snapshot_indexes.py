"""The folder of snapshot indexes is a local one, or in a configured storage."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
import pytest
from support.gateways.memory_instances import LAKE, memory_instances
from support.tables.deltalog import DeltaFolder, add, metadata, protocol
from support.tables.indexed import KEYS, rows_of, write_index
from support.tables.snapshots import latest

from sluicegate.api import ConfigurationError
from sluicegate.api.budget import TableLimits
from sluicegate.config import Settings
from sluicegate.plugins import Instances
from sluicegate.protocols.snapshot_indexes import close_indexes, lazy_indexes
from sluicegate.tables.snapshot_index.opening import open_folder
from sluicegate.tables.snapshot_index.selection import select_files
from sluicegate_testing.fakes import MemoryStorage


def instances() -> Instances:
    return memory_instances(MemoryStorage())


async def test_a_local_folder_is_created(tmp_path: Path) -> None:
    folder = await open_folder(f"file://{tmp_path}/a%20b/index", KEYS, instances().open_location)
    folder.write("t", b"content")
    created = tmp_path / "a b" / "index"
    assert len(list((created / "t").iterdir())) == 1
    assert created.stat().st_mode & 0o077 == 0


async def test_a_folder_can_be_in_a_storage() -> None:
    configured = instances()
    written = await open_folder(f"{LAKE}/index", KEYS, configured.open_location)
    file = await anyio.to_thread.run_sync(written.write, "t", b"content")
    found = await open_folder(f"{LAKE}/index", KEYS, configured.open_location)
    assert await anyio.to_thread.run_sync(found.read, "t", file) == b"content"
    assert await anyio.to_thread.run_sync(found.remove, "t") == 1


async def test_tables_are_read_from_indexes_in_a_storage(tmp_path: Path) -> None:
    folder, configured = DeltaFolder(tmp_path / "t"), instances()
    folder.commit(0, protocol(), metadata(), add("a"), add("b"))
    written = await open_folder(f"{LAKE}/index", KEYS, configured.open_location)
    await anyio.to_thread.run_sync(write_index, written, folder.table(), await latest(folder))
    settings = Settings.model_validate({"index": {"location": f"{LAKE}/index", "min_files": 2}})
    indexes = lazy_indexes(settings, KEYS, configured, TableLimits())
    assert indexes is not None
    found = await (await indexes.get()).snapshot(folder.table(), folder.directory)
    assert found is not None
    files = select_files(found.files, found.metadata, None)
    rows = await anyio.to_thread.run_sync(rows_of, files)
    assert [row["path"] for row in rows] == ["a", "b"]
    await close_indexes(indexes)


async def test_a_folder_elsewhere_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no configured storage serves"):
        await open_folder("s3://other/index", KEYS, instances().open_location)


async def test_tables_have_no_indexes_without_a_folder() -> None:
    assert lazy_indexes(Settings(), KEYS, instances(), TableLimits()) is None
    await close_indexes(None)


async def test_indexes_that_nothing_needed_are_not_loaded(tmp_path: Path) -> None:
    settings = Settings.model_validate({"index": {"location": f"file://{tmp_path}/index"}})
    indexes = lazy_indexes(settings, KEYS, instances(), TableLimits())
    assert indexes is not None
    await close_indexes(indexes)
    assert indexes.made is None
    assert await indexes.get() is indexes.made
    await close_indexes(indexes)
