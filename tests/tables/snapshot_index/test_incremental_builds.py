"""An index that later commits were applied to answers as one that was built from the entire log."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from support.process.random_cases import cases
from support.tables.deltalog import Action, DeltaFolder, add, protocol, remove
from support.tables.indexed import check_same, index_folder, rows_of, selected
from support.tables.random_log import RandomTable, partitioned
from support.tables.snapshots import latest

from sluicegate.tables.snapshot import Snapshot
from sluicegate.tables.snapshot_index.files import IndexedFiles
from sluicegate.tables.snapshot_index.folder import IndexFolder, table_key
from sluicegate.tables.snapshot_index.index import SnapshotIndex
from sluicegate.tables.snapshot_index.snapshot import IndexedSnapshot
from sluicegate.tables.snapshot_index.writing import building, index_writer
from sluicegate.tables.snapshot_index.writing.building import IndexBuild, build_index

PART_ROWS = 8


@dataclass
class Builds:
    """Builds the index of a table again and again."""

    table: DeltaFolder
    folder: IndexFolder = field(default_factory=index_folder)

    async def build(self, *, full: bool = False, part_rows: int = PART_ROWS) -> IndexBuild:
        table, directory = self.table.table(), self.table.directory
        return await build_index(self.folder, table, directory, full=full, part_rows=part_rows)

    def opened(self) -> SnapshotIndex:
        index = building.opened(self.folder, table_key(self.table.table()))
        assert index is not None
        return index

    async def check(self) -> Snapshot:
        """The index is consistent, and equals the log's newest snapshot."""
        snapshot, index = await latest(self.table), self.opened()
        check_same(IndexedSnapshot.of(index), snapshot)
        check_parts(index)
        return snapshot


def check_parts(index: SnapshotIndex) -> None:
    """Each row is found by its key and by the bounds of its part, and parts are not too large."""
    assert all(0 < index.rows(part) <= PART_ROWS for part in range(len(index)))
    files = IndexedFiles.of(index)
    keys = [row["path"] for row in rows_of(selected(files, index.manifest.metadata, None))]
    assert len(keys) == len(set(keys)) == index.manifest.files
    lookups = index.manifest.lookups
    rows = [row for each in lookups for batch in index.lookup(each) for row in batch.to_pylist()]
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    found = index.files_with([row["key"] for row in rows])
    assert found == {part: index.rows(part) for part in range(len(index))}
    for each in lookups:
        first, *_, last = [key for batch in index.lookup(each) for key in batch["key"].to_pylist()] * 2
        assert (first, last) == (each.first, each.last)


@pytest.fixture(autouse=True)
def small_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_writer, "LOOKUP_ROWS", 5)


@pytest.mark.parametrize("seed", range(cases(8)))
async def test_later_commits_are_applied(folder: DeltaFolder, seed: int) -> None:
    choose, table, builds = random.Random(seed), RandomTable(folder, seed), Builds(folder)
    for _ in range(seed * 3 + 1):
        table.commit()
    assert (await builds.build()).reason == "there was no index"
    for _ in range(6):
        for _ in range(choose.randrange(1, 5)):
            table.commit(*_changed_metadata(choose))
        built = await builds.build()
        await builds.check()
        assert built.reason in (None, "the columns with bounds are different ones since then")


def _changed_metadata(choose: random.Random) -> Sequence[Action]:
    """Sometimes a description, seldom a column."""
    action = partitioned(("id", "long"))
    if (chance := choose.random()) < 0.1:
        action["metaData"]["description"] = str(chance)
        return [action]
    return [partitioned(("id", "long"), ("more", "string"))] if chance < 0.15 else []


def spread(count: int, first: int = 0, country: str = "DE") -> list[Action]:
    """Files whose values do not overlap."""
    return [
        add(
            f"{country}-{low:04}",
            partitionValues={"country": country},
            stats=f'{{"numRecords": 1, "minValues": {{"id": {low}}}, "maxValues": {{"id": {low}}}}}',
        )
        for low in range(first, first + count)
    ]


@pytest.fixture
def builds(folder: DeltaFolder) -> Builds:
    """A table of eight full parts of two partitions, without an index."""
    folder.commit(0, *actions())
    return Builds(folder)


def actions() -> list[Action]:
    of_table = protocol(3, "deletionVectors"), partitioned(("id", "long"))
    return [*of_table, *spread(32), *spread(32, country="FR")]


@pytest.mark.parametrize(
    ("changes", "written", "kept"),
    [
        ([remove("DE-0003")], 1, 7),
        ([*map(remove, ("DE-0003", "FR-0003"))], 2, 6),
        # It is joined with the next part.
        ([remove(f"DE-{number:04}") for number in range(7)], 2, 6),
        # It disappears, and the one before takes what is left.
        ([remove(f"FR-{number:04}") for number in range(25, 32)], 2, 6),
        # It is full, and is split.
        (spread(1, first=100), 2, 7),
        (spread(23, first=100, country="FR"), 4, 7),
        # A new partition is after the others.
        (spread(3, country="IT"), 2, 7),
        ([remove(f"FR-{number:04}") for number in range(32)], 0, 4),
        ([], 0, 8),
    ],
)
async def test_only_parts_that_change_are_written(
    builds: Builds, changes: list[Action], written: int, kept: int
) -> None:
    await builds.build()
    before = set(builds.opened().summary.column("digest").to_pylist())
    builds.table.commit(1, *changes)
    built = await builds.build()
    after = set(builds.opened().summary.column("digest").to_pylist())
    assert (built.index.parts - built.kept, built.kept) == (written, kept)
    assert len(before & after) == kept
    assert built.reason is None
    await builds.check()


async def test_a_table_without_new_commits_keeps_its_index(builds: Builds) -> None:
    first, again = await builds.build(), await builds.build()
    assert again.index == first.index
    assert (again.kept, again.reason) == (8, None)


async def test_all_parts_are_written_on_request(builds: Builds) -> None:
    first, again = await builds.build(), await builds.build(full=True)
    assert (again.kept, again.reason) == (0, "it was requested")
    assert again.index.manifest.summary == first.index.manifest.summary


@pytest.mark.parametrize("what", ["cleaned up", "created again", "too many", "damaged", "empty"])
async def test_all_parts_are_written_if_an_index_cannot_be_continued(
    builds: Builds, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = builds.table.log
    reason = "the log does not continue from version 0, which was indexed"
    if what == "empty":
        builds.table.commit(1, *(remove(each["add"]["path"]) for each in actions()[2:]))
        reason = "the table had no files"
    await builds.build()
    builds.table.commit(2 if what == "empty" else 1, add("a"))
    if what == "cleaned up":
        builds.table.parquet(f"{1:020}.checkpoint.parquet", [*actions(), add("a")])
        (log / f"{0:020}.json").unlink()
    elif what == "created again":
        builds.table.commit(0, protocol(3), partitioned(("id", "long")), *spread(3), modified=10**9)
    elif what == "too many":
        monkeypatch.setattr(building, "_MOST_LATER", 0)
        builds.table.commit(2, *spread(20, first=40))
        reason = "the later commits have more than 16 entries, or "
    elif what == "damaged":
        index = builds.opened()
        key = f"indexes/{index.manifest.table}/{index.file_of(0).digest}.parquet"
        builds.folder.store.put(key, b"")
        reason = "the previous index cannot be continued: "
    built = await builds.build()
    assert built.reason is not None
    assert built.reason.startswith(reason)
    await builds.check()
