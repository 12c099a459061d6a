"""Snapshots are read from indexes, and from logs where no index can be used."""

from __future__ import annotations

import pytest
from support.tables.deltalog import DeltaFolder
from support.tables.indexed import index_folder, indexed_tables, write_index
from support.tables.random_log import RandomTable
from support.tables.snapshots import latest

from sluicegate._util.lazy import Lazy
from sluicegate.api import InvalidRequest
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import Snapshot
from sluicegate.tables.snapshot_index.failures import IndexUnsuitable, IndexUnusable
from sluicegate.tables.snapshot_index.folder import IndexFolder
from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
from sluicegate.tables.snapshot_index.table_snapshots import TableSnapshots

INDEXED, LAST = 3, 5


@pytest.fixture
async def indexes(folder: DeltaFolder) -> IndexFolder:
    """The index of a table that has later commits."""
    table, made = RandomTable(folder, 4), index_folder()
    while table.version < INDEXED:
        table.commit()
    write_index(made, folder.table(), await latest(folder))
    while table.version < LAST:
        table.commit()
    return made


def snapshots_of(indexes: IndexFolder | None) -> TableSnapshots:
    reader = TableReader({"delta": DeltaFormat()}, 1 << 24)
    return TableSnapshots(reader, None if indexes is None else Lazy(lambda: indexed_tables(indexes)))


@pytest.mark.parametrize(
    ("version", "kind"),
    [(None, IndexedSnapshot), (LAST - 1, IndexedSnapshot), (INDEXED - 1, Snapshot)],
)
async def test_the_index_is_used_for_versions_that_it_has(
    folder: DeltaFolder, indexes: IndexFolder, version: int | None, kind: type
) -> None:
    table, directory = folder.table(), folder.directory
    found = await snapshots_of(indexes).read(table, directory, version)
    assert (type(found), found.version) == (kind, LAST if version is None else version)
    for each, with_index in ((indexes, False), (None, True)):
        stored = await snapshots_of(each).read(table, directory, version, with_index=with_index)
        assert (type(stored), stored.version) == (Snapshot, found.version)


async def test_a_damaged_index_is_not_used_again_but_an_unsuitable_one_is(
    folder: DeltaFolder, indexes: IndexFolder, caplog: pytest.LogCaptureFixture
) -> None:
    table, directory = folder.table(), folder.directory
    snapshots = snapshots_of(indexes)
    await snapshots.distrust(table, IndexUnsuitable("all files are needed"))
    assert isinstance(await snapshots.read(table, directory), IndexedSnapshot)
    assert not caplog.messages
    await snapshots.distrust(table, IndexUnusable("a part is damaged"))
    assert isinstance(await snapshots.read(table, directory), Snapshot)
    assert [each.endswith("is not used: a part is damaged") for each in caplog.messages] == [True]
    await snapshots_of(None).distrust(table, IndexUnusable("nothing is configured"))


@pytest.mark.parametrize("earliest_after", [True, False])
async def test_versions_are_found_by_time_as_in_the_log(
    folder: DeltaFolder, indexes: IndexFolder, earliest_after: bool
) -> None:
    table, directory = folder.table(), folder.directory
    newest = (await latest(folder)).timestamp
    for timestamp in (newest - 1, newest, newest + 1, 0):
        answers: list[int | type[Exception]] = []
        for each in (indexes, None):
            try:
                version = await snapshots_of(each).version_at(
                    table, directory, timestamp, earliest_after=earliest_after
                )
                answers.append(version)
            except InvalidRequest as error:
                answers.append(type(error))
        assert answers[0] == answers[1]


async def test_a_snapshot_without_files_has_the_rest(folder: DeltaFolder, indexes: IndexFolder) -> None:
    found = await snapshots_of(indexes).read(folder.table(), folder.directory)
    assert isinstance(found, IndexedSnapshot)
    expected, alone = await latest(folder), found.without_files()
    assert (alone.version, alone.timestamp) == (expected.version, expected.timestamp)
    assert (alone.protocol, alone.metadata) == (expected.protocol, expected.metadata)
    assert len(alone.files) == 0
    described = found.described()
    assert described.deletion_vectors is expected.files.deletion_vectors
