"""A full build reads the log in batches, and finds the files of the snapshot in every kind of log."""

from __future__ import annotations

import pytest
from support.process.random_cases import one_of
from support.tables.deltalog import DeltaFolder, add, metadata, protocol, remove
from support.tables.indexed import index_folder, rows_of, selected
from support.tables.reader_tables.tables import ReaderTables, served_tables
from support.tables.snapshots import latest

from sluicegate.api import TableUnreadable
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.writing.building import build_index, opened

READABLE = [name for name, served in served_tables().items() if not served.unreadable]


async def check(folder: IndexFolder, table: DeltaFolder) -> None:
    """The index of a table has the files and the description of its snapshot."""
    index, snapshot = opened(folder, table_key(table.table())), await latest(table)
    assert index is not None
    manifest = index.manifest
    assert (manifest.version, manifest.timestamp) == (snapshot.version, snapshot.timestamp)
    assert (manifest.protocol, manifest.metadata) == (snapshot.protocol, snapshot.metadata)
    assert manifest.newest == getattr(snapshot.state, "newest", None)
    found = selected(IndexedFiles.of(index), manifest.metadata, None)
    assert rows_of(found) == rows_of(snapshot.files)


@pytest.mark.parametrize(
    "name", one_of(3, READABLE, pytest.mark.night("test_the_files_of_every_log_are_indexed"))
)
async def test_the_files_of_every_log_are_indexed(tables: ReaderTables, name: str) -> None:
    table, folder = DeltaFolder(tables.table(name).location), index_folder()
    await build_index(folder, table.table(), table.directory, part_rows=3)
    await check(folder, table)


@pytest.fixture
def table(folder: DeltaFolder) -> DeltaFolder:
    """A table with a checkpoint, and a commit after that."""
    files = [add(f"f{number}", stats=f'{{"numRecords":{number}}}') for number in range(40)]
    folder.commit(0, protocol(), metadata(), *files)
    folder.commit(1, remove("f1"))
    actions = [protocol(), metadata(), *files[:1], *files[2:]]
    folder.parquet(f"{1:020}.checkpoint.parquet", actions, group=8, compression="none")
    folder.hint('{"version": 1, "size": 41}')
    folder.commit(2, remove("f2"), add("f1", size=7), add("f3", size=8))
    return folder


async def test_a_full_build_never_has_a_snapshot(
    table: DeltaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = index_folder()
    with monkeypatch.context() as patched:
        patched.delattr(DeltaFormat, "latest")
        await build_index(folder, table.table(), table.directory, part_rows=8)
    await check(folder, table)


async def test_an_older_state_of_the_log_replaces_a_damaged_checkpoint(table: DeltaFolder) -> None:
    path = table.log / f"{1:020}.checkpoint.parquet"
    content = path.read_bytes()
    at = content.index(b'{"numRecords":20}')
    path.write_bytes(content[: at - 40] + b"\xff" * 40 + content[at:])
    folder = index_folder()
    await build_index(folder, table.table(), table.directory, part_rows=8)
    await check(folder, table)


async def test_a_damaged_log_is_an_error(table: DeltaFolder) -> None:
    (table.log / f"{2:020}.json").write_text('{"add": ')
    folder = index_folder()
    with pytest.raises(TableUnreadable, match="Delta log"):
        await build_index(folder, table.table(), table.directory)
    assert not folder.store.objects("indexes")
