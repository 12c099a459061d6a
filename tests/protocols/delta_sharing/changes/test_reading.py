"""Reading the commits of a table: what is read, how often, and from which layouts of the log."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from protocols.delta_sharing.changes.logs import FEED, cdc, full_remove
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.api import InvalidRequest, ObjectDirectory, TableFormat, UnsupportedOperation
from sluicegate.api.errors import Unavailable
from sluicegate.api.models import CatalogTable
from sluicegate.tables.changes import Changes, What
from sluicegate.tables.delta import DeltaFormat
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.store import LogStore
from sluicegate.tables.snapshot import Snapshot

Asked = list[str]
HEAD = [protocol(3, "v2Checkpoint"), metadata(**FEED)]


@pytest.fixture
def folder(tmp_path: Path) -> DeltaFolder:
    return DeltaFolder(tmp_path / "table")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Names of the log's files that were read so far; `list` for a listing."""
    names: Asked = []
    read, files, opened = LogStore.read, LogStore.files, LogStore.open

    async def counted_read(self: LogStore, name: str, limit: int | None = None) -> memoryview:
        names.append(name)
        return await read(self, name, limit)

    async def counted_files(self: LogStore, since: int | None = None) -> list[LogFile]:
        names.append("list")
        return await files(self, since)

    def counted_open(self: LogStore, name: str, size: int) -> Any:
        names.append(f"part of {name}")
        return opened(self, name, size)

    monkeypatch.setattr(LogStore, "read", counted_read)
    monkeypatch.setattr(LogStore, "files", counted_files)
    monkeypatch.setattr(LogStore, "open", counted_open)
    return names


async def changes(
    format: DeltaFormat, folder: DeltaFolder, start: int, end: int, **catalog: Any
) -> Changes:
    table = folder.table(**catalog)
    latest = await format.latest(table, folder.directory, None)
    return await format.changes(table, folder.directory, latest, start, end)


async def paths(found: Changes, what: What = "data", since: int = 0) -> list[list[str]]:
    return [files.column("path").to_pylist() async for _, files in found.files(what, since)]


def write(folder: DeltaFolder, commits: int) -> None:
    folder.commit(0, *HEAD, add("f0"))
    for version in range(1, commits):
        folder.commit(version, add(f"f{version}"), full_remove(f"f{version - 1}"))


async def test_a_range_requested_again_costs_one_listing(folder: DeltaFolder, asked: Asked) -> None:
    write(folder, 40)
    format = DeltaFormat()
    latest = await format.latest(folder.table(), folder.directory, None)
    first = await format.changes(folder.table(), folder.directory, latest, 5, 39)
    told = await paths(first)
    asked.clear()
    again = await format.changes(folder.table(), folder.directory, latest, 5, 39)
    assert await paths(again) == told
    assert asked == ["list"]
    assert again.commits == first.commits


async def test_only_new_commits_are_read(folder: DeltaFolder, asked: Asked) -> None:
    write(folder, 10)
    format = DeltaFormat()
    await paths(await changes(format, folder, 5, 9))
    folder.commit(10, add("new"))
    latest = await format.latest(folder.table(), folder.directory, None)
    asked.clear()
    found = await format.changes(folder.table(), folder.directory, latest, 5, 10)
    assert (await paths(found))[-1] == ["new"]
    assert [name for name in asked if name != "list"] == [f"{10:020}.json"]


async def test_a_replaced_commit_is_read_anew(folder: DeltaFolder) -> None:
    write(folder, 3)
    format = DeltaFormat()
    assert await paths(await changes(format, folder, 2, 2)) == [["f2", "f1"]]
    folder.commit(2, add("another"), modified=7_000)
    assert await paths(await changes(format, folder, 2, 2)) == [["another"]]


async def test_a_range_larger_than_the_cache_is_returned_as_well(
    folder: DeltaFolder, asked: Asked
) -> None:
    write(folder, 100)
    large, small = DeltaFormat(), DeltaFormat(commits_bytes=50_000)
    told = await paths(await changes(large, folder, 0, 99))
    assert await paths(await changes(small, folder, 0, 99)) == told
    assert small._commits.files.weight <= 50_000


async def test_reading_goes_on_at_a_version(folder: DeltaFolder, asked: Asked) -> None:
    write(folder, 10)
    found = await changes(DeltaFormat(commits_bytes=0), folder, 2, 9)
    asked.clear()
    assert await paths(found, since=8) == [["f8", "f7"], ["f9", "f8"]]
    assert sorted(asked) == [f"{8:020}.json", f"{9:020}.json"]


async def test_a_log_that_is_cleaned_up_meanwhile_is_for_later(folder: DeltaFolder) -> None:
    write(folder, 3)
    found = await changes(DeltaFormat(commits_bytes=0), folder, 0, 2)
    (folder.log / f"{1:020}.json").unlink()
    with pytest.raises(Unavailable, match="try again"):
        await paths(found)


async def test_feed_and_data_of_one_commit(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD, add("a"))
    folder.commit(1, cdc("x"), full_remove("a"), add("b"), add("moved", dataChange=False))
    found = await changes(DeltaFormat(), folder, 0, 1)
    assert await paths(found, "data") == [["a"], ["a", "b"]]
    assert await paths(found, "feed") == [["a"], ["x"]]


def classic(folder: DeltaFolder) -> None:
    folder.parquet(f"{2:020}.checkpoint.parquet", [*HEAD, add("c"), add("d")])


def multi_part(folder: DeltaFolder) -> None:
    for part, actions in enumerate(([add("c")], [add("d"), HEAD[1]], [HEAD[0]]), 1):
        folder.parquet(f"{2:020}.checkpoint.{part:010}.{3:010}.parquet", actions)


def v2_json(folder: DeltaFolder) -> None:
    sidecars = folder.sidecars([add("c")], [add("d")])
    folder.lines(f"{2:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", [*HEAD, *sidecars])


def v2_parquet(folder: DeltaFolder) -> None:
    sidecars = folder.sidecars([add("c"), add("d")])
    folder.parquet(
        f"{2:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet", [*HEAD, *sidecars]
    )


def whole_log(folder: DeltaFolder) -> None:
    folder.commit(0, *HEAD)
    folder.commit(1, add("c"))
    folder.commit(2, add("d"))


def compacted(folder: DeltaFolder) -> None:
    whole_log(folder)
    folder.compaction(0, 2, *HEAD, add("c"), add("d"))


@pytest.mark.parametrize("layout", [classic, multi_part, v2_json, v2_parquet, whole_log, compacted])
async def test_the_state_at_the_start_is_read_from_every_layout_without_files(
    folder: DeltaFolder, asked: Asked, layout: Callable[[DeltaFolder], None]
) -> None:
    layout(folder)
    folder.commit(3, add("e"))
    folder.commit(4, metadata("renamed", **FEED), add("f"))
    format = DeltaFormat()
    latest = await format.latest(folder.table(), folder.directory, None)
    asked.clear()
    found = await format.changes(folder.table(), folder.directory, latest, 3, 4)
    assert found.start.version == 3
    assert found.start.protocol.reader_features == ("v2Checkpoint",)
    assert found.start.metadata.id == "t"
    assert [state.metadata.id for state in found.states()] == ["t", "renamed"]
    assert await paths(found) == [["e"], ["f"]]
    assert not [name for name in asked if "_sidecars" in name]


async def test_little_of_a_large_checkpoint_is_read_for_the_state(
    folder: DeltaFolder, asked: Asked
) -> None:
    chance = random.Random(0)  # so that compression leaves it large
    adds = [add(f"{number:064}", stats=chance.randbytes(100).hex()) for number in range(30_000)]
    folder.parquet(f"{2:020}.checkpoint.parquet", [*HEAD, *adds], group=1000)
    folder.commit(3, add("e"))
    format = DeltaFormat()
    latest = await format.latest(folder.table(), folder.directory, None)
    asked.clear()
    await format.changes(folder.table(), folder.directory, latest, 3, 3)
    assert f"part of {2:020}.checkpoint.parquet" in asked
    assert f"{2:020}.checkpoint.parquet" not in asked


async def test_a_gap_at_the_end_is_refused(folder: DeltaFolder) -> None:
    write(folder, 3)
    format = DeltaFormat()
    latest = await format.latest(folder.table(), folder.directory, None)
    with pytest.raises(InvalidRequest, match="lacks commit 3"):
        await format.changes(folder.table(), folder.directory, latest, 1, 3)


async def test_a_format_need_not_tell_changes(folder: DeltaFolder) -> None:
    class Silent(TableFormat):
        async def latest(
            self, table: CatalogTable, directory: ObjectDirectory, previous: Snapshot | None
        ) -> Snapshot:
            return await DeltaFormat().latest(table, directory, previous)

        async def at_version(
            self, table: CatalogTable, directory: ObjectDirectory, version: int
        ) -> Snapshot:
            return await DeltaFormat().at_version(table, directory, version)

        async def version_at(
            self,
            table: CatalogTable,
            directory: ObjectDirectory,
            latest: Snapshot,
            timestamp: int,
            *,
            earliest_after: bool,
        ) -> int:
            return 0

    write(folder, 1)
    latest = await Silent().latest(folder.table(), folder.directory, None)
    with pytest.raises(UnsupportedOperation, match="'delta' do not record"):
        await Silent().changes(folder.table(), folder.directory, latest, 0, 0)
