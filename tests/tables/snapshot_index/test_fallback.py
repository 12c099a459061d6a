"""An index that cannot be used never prevents a table from being read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, remove
from support.tables.indexed import index_folder, indexed, rows_of, selected, snapshot_of, write_index
from support.tables.memory_tables import METADATA
from support.tables.snapshots import latest

from sluicegate.api import ObjectDirectory, StorageError
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.predicates import from_hints
from sluicegate.tables.snapshot import FileSet
from sluicegate.tables.snapshot_index import overlay
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.opening import open_folder
from sluicegate.tables.snapshot_index.tables import IndexedTables


class Indexed:
    """The indexes in a folder, and a clock that the test sets."""

    def __init__(self, folder: IndexFolder, min_files: int = 0) -> None:
        self.now = 0.0
        self.failure: Exception | None = None
        self._folder = folder
        self.tables = IndexedTables(
            self._opened, min_files=min_files, max_bytes=1 << 24, clock=lambda: self.now
        )

    async def _opened(self) -> IndexFolder:
        if self.failure is not None:
            raise self.failure
        return self._folder

    async def version(self, table: DeltaFolder) -> int | None:
        """The indexed version that is used now."""
        found = await self.tables.snapshot(table.table(), table.directory)
        return None if found is None else found.files.index.manifest.version


@pytest.fixture
def table(folder: DeltaFolder) -> DeltaFolder:
    folder.commit(0, protocol(), metadata(), *(add(f"f{number}") for number in range(6)))
    return folder


async def test_an_index_is_found_a_minute_after_it_was_written(table: DeltaFolder) -> None:
    folder = index_folder()
    indexed = Indexed(folder)
    assert await indexed.version(table) is None
    write_index(folder, table.table(), await latest(table))
    assert await indexed.version(table) is None
    indexed.now += 60
    assert await indexed.version(table) == 0


async def test_a_new_index_replaces_the_previous_one_after_a_minute(table: DeltaFolder) -> None:
    folder = index_folder()
    indexed = Indexed(folder)
    write_index(folder, table.table(), await latest(table))
    assert await indexed.version(table) == 0
    table.commit(1, add("new"))
    write_index(folder, table.table(), await latest(table))
    assert await indexed.version(table) == 0
    indexed.now += 60
    assert await indexed.version(table) == 1


async def test_a_removed_index_is_not_used_after_a_minute(table: DeltaFolder) -> None:
    folder = index_folder()
    manifest = write_index(folder, table.table(), await latest(table))
    indexed = Indexed(folder)
    assert await indexed.version(table) == 0
    folder.remove(manifest.table)
    indexed.now += 60
    assert await indexed.version(table) is None


async def test_small_tables_are_read_from_their_logs(table: DeltaFolder) -> None:
    folder = index_folder()
    write_index(folder, table.table(), await latest(table))
    assert await Indexed(folder, min_files=7).version(table) is None
    assert await Indexed(folder, min_files=6).version(table) == 0


async def test_an_index_that_is_far_behind_is_not_used(
    table: DeltaFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(overlay, "_MOST_CHANGES", 3)
    folder = index_folder()
    write_index(folder, table.table(), await latest(table))
    table.commit(1, remove("f1"), remove("f2"), add("f3"))
    assert await Indexed(folder).version(table) == 0
    table.commit(2, add("f4"))
    assert await Indexed(folder).version(table) is None
    assert "4 files were added or removed since it was written: build it again" in caplog.text


async def test_it_is_not_tried_again_for_a_minute(table: DeltaFolder) -> None:
    folder = index_folder()
    write_index(folder, table.table(), await latest(table))
    indexed = Indexed(folder)
    indexed.tables.distrust(table.table(), IndexUnusable("a part is damaged"))
    assert await indexed.version(table) is None
    indexed.now += 60
    assert await indexed.version(table) == 0


async def test_a_folder_that_cannot_be_opened_is_no_failure_of_a_request(table: DeltaFolder) -> None:
    folder = index_folder()
    write_index(folder, table.table(), await latest(table))
    indexed = Indexed(folder)
    indexed.failure = StorageError("the store does not respond")
    assert await indexed.version(table) is None


@pytest.mark.parametrize("what", ["missing", "damaged", "larger"])
async def test_files_of_an_index_are_checked(table: DeltaFolder, what: str) -> None:
    folder = index_folder()
    manifest = write_index(folder, table.table(), await latest(table))
    for file in manifest.references():
        key = f"{folder.prefix}/{manifest.table}/{file.digest}.parquet"
        content = folder.store.get(key, 1 << 20)
        if what == "missing":
            folder.store.delete([key])
        else:
            changed = content + b"x" if what == "larger" else content[:-1] + b"x"
            folder.store.put(key, changed)
        with pytest.raises(IndexUnusable, match=r"missing|damaged|larger"):
            folder.read(manifest.table, file)
    assert await Indexed(folder).version(table) is None


@pytest.mark.parametrize("what", ["pipe", "directory"])
async def test_a_local_part_that_is_no_file_is_not_waited_for(
    table: DeltaFolder, tmp_path: Path, what: str
) -> None:
    async def no_storage(location: str) -> ObjectDirectory:
        raise AssertionError(location)

    keys = KeyRing((b"k" * 32,))
    folder = await open_folder(f"file://{tmp_path}/indexes", keys, no_storage)
    manifest = write_index(folder, table.table(), await latest(table))
    assert await Indexed(folder).version(table) == 0
    for file in manifest.references():
        path = tmp_path / "indexes" / manifest.table / f"{file.digest}.parquet"
        path.unlink()
        os.mkfifo(path) if what == "pipe" else path.mkdir()
        with pytest.raises(IndexUnusable, match="cannot be read"):
            folder.read(manifest.table, file)
    assert await Indexed(folder).version(table) is None


async def test_only_a_key_of_the_gateway_makes_an_index_valid(table: DeltaFolder) -> None:
    ours, theirs = KeyRing((b"k" * 32,)), KeyRing((b"x" * 32,))
    folder = index_folder()
    write_index(replace(folder, keys=theirs), table.table(), await latest(table))
    assert await Indexed(folder).version(table) is None
    rotated = replace(folder, keys=KeyRing((*ours.keys, *theirs.keys)))
    assert await Indexed(rotated).version(table) == 0


async def test_an_index_of_another_table_is_not_used(table: DeltaFolder) -> None:
    folder = index_folder()
    manifest = write_index(folder, replace(table.table(), id="other"), await latest(table))
    moved = index_folder()
    content = folder.store.get(f"{folder.prefix}/{manifest.table}/manifest.json", 1 << 20)
    moved.store.put(f"{moved.prefix}/{table_key(table.table())}/manifest.json", content)
    assert await Indexed(moved).version(table) is None


def test_a_table_without_files_has_an_index() -> None:
    files = indexed(index_folder(), snapshot_of(FileSet.of([]), METADATA))
    assert (len(files), files.size, files.deletion_vectors) == (0, 0, False)
    for predicate in (None, from_hints(None, ["id > 1"])):
        assert rows_of(selected(files.in_partitions(lambda _: True), METADATA, predicate)) == []
