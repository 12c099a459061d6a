"""A snapshot that is advanced equals one that is reloaded, and both a log replayed naively."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.process.random_cases import cases
from support.tables.deltalog import Action, DeltaFolder, add, metadata, protocol, remove, vector
from support.tables.snapshots import at_version, latest, paths, rows

from sluicegate.api.budget import Budget
from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta import replay
from sluicegate.tables.delta.log_files.actions import Actions
from sluicegate.tables.delta.log_files.commits import parse_actions
from sluicegate.tables.delta.log_files.names import log_file
from sluicegate.tables.delta.replay import apply, reconcile
from sluicegate.tables.snapshot import FileChunk, FileSet, Snapshot

COMMITS = cases(1000)
HEAD = [protocol(3, "deletionVectors"), metadata()]
VECTORS = [None, vector("x", 1), vector("x", 2), vector("y", None)]


class NaiveTable:
    """The oracle: a dictionary of adds by path and deletion vector."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str | None], int] = {}

    def replay(self, actions: list[Action]) -> None:
        for action in actions:
            for kind, value in action.items():
                descriptor = value.get("deletionVector")
                key = (value.get("path", ""), None if descriptor is None else str(descriptor))
                if kind == "add":
                    self.files[key] = value["size"]
                elif kind == "remove":
                    self.files.pop(key, None)

    @property
    def summary(self) -> list[tuple[str, str | None, int]]:
        return sorted(((path, key, size) for (path, key), size in self.files.items()), key=str)


def summary(snapshot: Snapshot) -> list[tuple[str, str | None, int]]:
    def descriptor(row: dict[str, Any]) -> str | None:
        value = row["deletion_vector"]
        return None if value is None else str({name: value[name] for name in vector("")})

    return sorted(((row["path"], descriptor(row), row["size"]) for row in rows(snapshot)), key=str)


file_names = st.sampled_from(["a", "b", "c d", "ü", "/abs", "p=1/x"])
actions = st.builds(
    lambda kind, path, size, dv: (
        add(path, size=size, deletionVector=dv) if kind else remove(path, deletionVector=dv)
    ),
    st.booleans(),
    file_names,
    st.integers(0, 10**12),
    st.sampled_from(VECTORS),
)
histories = st.lists(st.lists(actions, max_size=6), min_size=1, max_size=8)


@settings(max_examples=cases(50), deadline=None)
@given(histories, st.data())
def test_advancing_equals_loading_anew_and_a_naive_replay(
    history: list[list[Action]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(check_history(DeltaFolder(Path(name) / "t"), history, data))


async def check_history(folder: DeltaFolder, history: list[list[Action]], data: st.DataObject) -> None:
    oracle = NaiveTable()
    previous: Snapshot | None = None
    for version, commit in enumerate(history):
        modified = data.draw(st.integers(1000, 1003), label="modified")
        folder.commit(version, *(HEAD if version == 0 else []), *commit, modified=modified)
        oracle.replay([absolute(action) for action in commit])
        fresh = await latest(folder)
        assert summary(fresh) == oracle.summary
        advanced = await latest(folder, previous)
        assert summary(advanced) == oracle.summary
        assert (advanced.version, len(advanced.files)) == (version, len(oracle.files))
        assert advanced.files.size == sum(oracle.files.values())
        assert advanced.timestamp == fresh.timestamp
        if data.draw(st.booleans(), label="advance the next one from here"):
            previous = advanced
        if data.draw(st.integers(0, 3), label="checkpoint at 0") == 0:
            folder.parquet(f"{version:020}.checkpoint.parquet", [*HEAD, *live_adds(fresh)])


def absolute(action: Action) -> Action:
    return {
        kind: {**value, "path": value["path"].replace("/abs", "file:///abs")}
        for kind, value in action.items()
    }


def live_adds(snapshot: Snapshot) -> list[Action]:
    return [
        add(row["path"], size=row["size"], deletionVector=row["deletion_vector"])
        for row in rows(snapshot)
    ]


async def test_an_unchanged_table_gives_the_very_same_snapshot(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a"))
    first = await latest(folder)
    assert await latest(folder, first) is first


async def test_advancing_copies_no_files(folder: DeltaFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    full = 2000  # instead of the rows that a chunk has at most, which take long to make
    monkeypatch.setattr(replay, "CHUNK_ROWS", full)
    folder.commit(0, *HEAD)
    folder.parquet(f"{0:020}.checkpoint.parquet", [*HEAD, *(add(f"{n}") for n in range(300))])
    read = pa.concat_tables((await latest(folder)).files.batches(1000)).combine_chunks()
    files = FileSet.of(repeated(read, rows) for rows in (full, full, 300))
    advanced = apply(files, reconcile([parsed(folder, [remove("7"), add("new")])]))
    assert addresses(advanced)[:3] == addresses(files)
    assert len(files) - len(advanced) == sum(p == "7" for p in live_paths(files)) - 1


def repeated(table: pa.Table, rows: int) -> FileChunk:
    copies = pa.concat_tables([table] * (rows // table.num_rows + 1)).slice(0, rows)
    return FileChunk.of(copies.combine_chunks().to_batches()[0])


def addresses(files: FileSet) -> list[tuple[int, int]]:
    paths = [chunk.buffers()[2].address for chunk in files.table.column("path").chunks]
    stats = [stats.buffers()[0].address for stats in files.stats]
    return list(zip(paths, stats, strict=True))


async def test_new_protocol_and_metadata_are_taken_over(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a"))
    first = await latest(folder)
    folder.commit(1, metadata(delta__appendOnly="true"))
    second = await latest(folder, first)
    folder.commit(2, protocol(3, "deletionVectors", "timestampNtz"))
    third = await latest(folder, second)
    assert third.metadata.configuration == {"delta.appendOnly": "true"}
    assert third.protocol.reader_features == ("deletionVectors", "timestampNtz")
    assert paths(third) == ["a"]


async def test_a_table_created_anew_is_not_served_from_the_old_snapshot(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a"), modified=1_000)
    folder.commit(1, add("b"), modified=2_000)
    first = await latest(folder)
    shutil.rmtree(folder.root)
    folder.commit(0, *HEAD, add("c"), modified=1_001)
    folder.commit(1, add("d"), modified=2_001)
    assert paths(await latest(folder, first)) == ["c", "d"]


async def test_a_table_created_anew_with_fewer_versions_is_noticed(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a"))
    folder.commit(1, add("b"))
    first = await latest(folder)
    shutil.rmtree(folder.root)
    folder.commit(0, *HEAD, add("c"))
    second = await latest(folder, first)
    assert (second.version, paths(second)) == (0, ["c"])


async def test_a_log_that_was_cleaned_up_is_loaded_from_its_checkpoint(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a"))
    first = await latest(folder)
    for version in (1, 2):
        folder.commit(version, add(str(version)))
    folder.parquet(f"{2:020}.checkpoint.parquet", [*HEAD, add("a"), add("1"), add("2")])
    for version in (0, 1):
        (folder.log / f"{version:020}.json").unlink()
    folder.commit(3, add("3"))
    assert paths(await latest(folder, first)) == ["1", "2", "3", "a"]


async def test_a_checkpoint_smaller_than_the_commits_since_is_read_instead(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a"))
    first = await latest(folder)
    folder.commit(1, *(add("x", stats="1" * 100_000) for _ in range(5)))
    folder.commit(2, remove("x"))
    folder.parquet(f"{2:020}.checkpoint.parquet", [*HEAD, add("from the checkpoint")])
    assert paths(await latest(folder, first)) == ["from the checkpoint"]


async def test_a_gap_after_the_snapshot_is_refused(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD)
    first = await latest(folder)
    folder.commit(2, add("b"))
    with pytest.raises(TableUnreadable, match="lacks commit 1,"):
        await latest(folder, first)


async def test_a_commit_touched_without_change_is_loaded_anew(folder: DeltaFolder) -> None:
    path = folder.commit(0, *HEAD, add("a"))
    first = await latest(folder)
    os.utime(path, (1, 1))
    second = await latest(folder, first)
    assert second is not first
    assert rows(second) == rows(first)


async def test_dead_rows_and_chunks_do_not_pile_up(folder: DeltaFolder) -> None:
    """Hundreds of commits that replace one of a hundred files each."""
    folder.commit(0, *HEAD, *(add(f"{number}") for number in range(100)))
    folder.commit(1, add("start"))
    start = await latest(folder)
    files = start.files
    for number in range(COMMITS):
        commit = parsed(folder, [remove(f"{number}"), add(f"{number + 100}")])
        files = apply(files, reconcile([commit]))
    assert sorted(live_paths(files)) == sorted([*map(str, range(COMMITS, COMMITS + 100)), "start"])
    assert files.table.num_rows <= 1.5 * len(files)
    assert files.table.column("path").num_chunks <= 10


def parsed(folder: DeltaFolder, actions: list[Action]) -> Actions:
    path = folder.commit(2, *actions)
    file = log_file(path.name, path.stat().st_size, 1, None)
    assert file is not None
    return parse_actions(path.read_bytes(), file, "file://", Budget())


def live_paths(files: FileSet) -> list[str]:
    return [path for batch in files.batches(1000) for path in batch.column("path").to_pylist()]


async def test_history_after_many_commits_can_be_travelled(folder: DeltaFolder) -> None:
    for version in range(40):
        folder.commit(version, *(HEAD if version == 0 else []), add(str(version)))
    for version in (0, 17, 39):
        assert len((await at_version(folder, version)).files) == version + 1
