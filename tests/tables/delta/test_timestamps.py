from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.tables.deltalog import Action, DeltaFolder, add, metadata, protocol
from support.tables.snapshots import at_version, latest

from sluicegate.api.errors import InvalidRequest, TableUnreadable
from sluicegate.tables.delta import DeltaFormat

ICT = "delta__enableInCommitTimestamps"
SINCE = "delta__inCommitTimestampEnablementVersion"
FROM = "delta__inCommitTimestampEnablementTimestamp"


def info(timestamp: int) -> Action:
    return {"commitInfo": {"inCommitTimestamp": timestamp, "timestamp": 1, "operation": "WRITE"}}


def changed(path: Path, modified: int) -> None:
    """Let a file have been modified at a time, epoch milliseconds."""
    os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))


async def version_at(folder: DeltaFolder, timestamp: int, *, earliest_after: bool) -> int | str:
    """The version, or the message of the refusal."""
    newest = await latest(folder)
    try:
        return await DeltaFormat().version_at(
            folder.table(), folder.directory, newest, timestamp, earliest_after=earliest_after
        )
    except InvalidRequest as error:
        return error.message


@pytest.fixture
def by_file(folder: DeltaFolder) -> DeltaFolder:
    """Five versions by modification time: 1 and 2 have that of 0, so they count as 1 and 2 ms later."""
    folder.commit(0, protocol(), metadata(), modified=10_000)
    for version, modified in enumerate([10_000, 9_000, 20_000, 30_000], start=1):
        folder.commit(version, add(str(version)), modified=modified)
    return folder


@pytest.fixture
def by_commit(folder: DeltaFolder) -> DeltaFolder:
    """Ten versions; from 4 on in-commit timestamps, which the files' modification times contradict."""
    folder.commit(0, protocol(), metadata(), modified=1_000)
    for version in (1, 2, 3):
        folder.commit(version, add(str(version)), modified=1_000 * (version + 1))
    settings = {ICT: "true", SINCE: "4", FROM: "50000"}
    folder.commit(4, info(50_000), metadata(**settings), modified=1)
    for version in range(5, 10):
        folder.commit(version, info(10_000 * (version + 1)), add(str(version)), modified=2)
    return folder


@pytest.mark.parametrize(
    ("timestamp", "until", "since"),
    [
        (10_000, 0, 0),
        (10_001, 1, 1),
        (10_002, 2, 2),
        (10_003, 2, 3),
        (19_999, 2, 3),
        (20_000, 3, 3),
        (30_000, 4, 4),
    ],
)
async def test_versions_by_modification_time(
    by_file: DeltaFolder, timestamp: int, until: int, since: int
) -> None:
    assert await version_at(by_file, timestamp, earliest_after=False) == until
    assert await version_at(by_file, timestamp, earliest_after=True) == since


@pytest.mark.parametrize(
    ("timestamp", "until", "since"),
    [
        (1_000, 0, 0),
        (3_999, 2, 3),
        (4_000, 3, 3),
        (4_001, 3, 4),
        (49_999, 3, 4),
        (50_000, 4, 4),
        (75_000, 6, 7),
        (100_000, 9, 9),
    ],
)
async def test_versions_by_in_commit_timestamp(
    by_commit: DeltaFolder, timestamp: int, until: int, since: int
) -> None:
    assert await version_at(by_commit, timestamp, earliest_after=False) == until
    assert await version_at(by_commit, timestamp, earliest_after=True) == since


async def test_timestamps_out_of_range_are_refused_with_the_limit(by_file: DeltaFolder) -> None:
    early = await version_at(by_file, 9_999, earliest_after=False)
    assert "1970-01-01T00:00:09.999Z is before the earliest version" in str(early)
    assert "version 0 of 1970-01-01T00:00:10.000Z" in str(early)
    assert await version_at(by_file, 9_999, earliest_after=True) == 0
    for earliest_after in (False, True):
        late = await version_at(by_file, 30_001, earliest_after=earliest_after)
        assert "1970-01-01T00:00:30.001Z is after the latest version" in str(late)
        assert "version 4 of 1970-01-01T00:00:30.000Z" in str(late)


async def test_a_version_that_cannot_be_rebuilt_is_none_at_a_timestamp(by_file: DeltaFolder) -> None:
    by_file.parquet(f"{3:020}.checkpoint.parquet", [protocol(), metadata()])
    (by_file.log / f"{0:020}.json").unlink()
    assert "version 3" in str(await version_at(by_file, 10_002, earliest_after=False))
    assert await version_at(by_file, 20_000, earliest_after=False) == 3
    assert await version_at(by_file, 1, earliest_after=True) == 3


async def test_a_gap_in_the_log_hides_the_versions_up_to_the_next_checkpoint(
    by_file: DeltaFolder,
) -> None:
    """Version 0 can be rebuilt, 1 is gone, and 2 is there but nothing leads to it."""
    by_file.parquet(f"{3:020}.checkpoint.parquet", [protocol(), metadata()])
    (by_file.log / f"{1:020}.json").unlink()
    for timestamp in (1, 10_000, 10_002):
        assert await version_at(by_file, timestamp, earliest_after=True) == 3
        refused = str(await version_at(by_file, timestamp, earliest_after=False))
        assert "version 3 of 1970-01-01T00:00:20.000Z" in refused


async def test_commits_behind_a_checkpoint_of_the_version_before_them_count(
    by_file: DeltaFolder,
) -> None:
    by_file.parquet(f"{1:020}.checkpoint.parquet", [protocol(), metadata()])
    for version in (0, 1):
        (by_file.log / f"{version:020}.json").unlink()
    assert await version_at(by_file, 1, earliest_after=True) == 2
    assert await version_at(by_file, 9_000, earliest_after=False) == 2


async def test_a_checkpoint_without_the_commit_of_its_version_has_a_time(folder: DeltaFolder) -> None:
    path = folder.parquet(f"{7:020}.checkpoint.parquet", [protocol(), metadata()])
    changed(path, 5_000)
    assert await version_at(folder, 5_000, earliest_after=False) == 7
    assert await version_at(folder, 1, earliest_after=True) == 7
    assert "version 7 of 1970-01-01T00:00:05.000Z" in str(
        await version_at(folder, 4_999, earliest_after=False)
    )


@pytest.mark.parametrize(("version", "timestamp"), [(0, 10_000), (1, 10_001), (2, 10_002), (4, 30_000)])
async def test_a_snapshot_has_the_timestamp_of_its_commits_file(
    by_file: DeltaFolder, version: int, timestamp: int
) -> None:
    assert (await at_version(by_file, version)).timestamp == timestamp


async def test_a_version_whose_commit_is_gone_has_the_timestamp_of_the_last_file_it_is_read_from(
    by_file: DeltaFolder,
) -> None:
    parts = [[add("0")], [protocol(), metadata()]]
    for part, actions in enumerate(parts, start=1):
        name = f"{1:020}.checkpoint.{part:010}.{2:010}.parquet"
        changed(by_file.parquet(name, actions), 71_000 + part)
    changed(by_file.compaction(2, 3, add("2"), add("3")), 73_000)
    for version in range(4):
        (by_file.log / f"{version:020}.json").unlink()
    timestamps = [(await at_version(by_file, version)).timestamp for version in (1, 3, 4)]
    assert timestamps == [71_002, 73_000, 30_000]


@pytest.mark.parametrize(("version", "timestamp"), [(0, 1_000), (3, 4_000), (4, 50_000), (9, 100_000)])
async def test_a_snapshot_has_the_timestamp_inside_its_commit(
    by_commit: DeltaFolder, version: int, timestamp: int
) -> None:
    assert (await at_version(by_commit, version)).timestamp == timestamp


async def test_in_commit_timestamps_are_found_behind_checkpoints_and_compactions(
    by_commit: DeltaFolder,
) -> None:
    by_commit.compaction(7, 9, add("7"), add("8"), add("9"))
    assert (await latest(by_commit)).timestamp == 100_000
    settings = metadata(**{ICT: "true", SINCE: "4", FROM: "50000"})
    by_commit.parquet(f"{9:020}.checkpoint.parquet", [protocol(), settings])
    assert (await latest(by_commit)).timestamp == 100_000


@pytest.mark.parametrize(
    "first_lines",
    [
        [],
        [info(123_456), add("long", stats="1" * 100_000)],
        [{"txn": {"appId": "x" * 100_000, "version": 1}}],
    ],
)
async def test_in_commit_timestamps_are_found_where_they_should_not_be(
    by_commit: DeltaFolder, first_lines: list[Action]
) -> None:
    settings = metadata(**{ICT: "true", SINCE: "4", FROM: "50000"})
    by_commit.commit(10, *first_lines, add("10"), info(123_456))
    by_commit.parquet(f"{10:020}.checkpoint.parquet", [protocol(), settings])
    assert (await latest(by_commit)).timestamp == 123_456


async def test_an_advanced_snapshot_keeps_timestamps_growing(by_file: DeltaFolder) -> None:
    first = await latest(by_file)
    by_file.commit(5, add("5"), modified=5)
    assert (await latest(by_file, first)).timestamp == 30_001


async def test_a_nonsensical_enablement_version_is_refused(folder: DeltaFolder) -> None:
    folder.commit(0, protocol(), metadata(**{ICT: "true", SINCE: "soon"}))
    with pytest.raises(TableUnreadable, match="inCommitTimestampEnablementVersion"):
        await latest(folder)
