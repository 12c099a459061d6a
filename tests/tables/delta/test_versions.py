"""Which versions of a Delta table are listed, with which metadata, and what is read for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.tables.deltalog import Action, DeltaFolder, add, metadata, protocol, vector
from support.tables.snapshots import at_version, latest

from sluicegate.api import TableUnreadable
from sluicegate.tables.delta import DeltaFormat, versions
from sluicegate.tables.versions import DescribedVersion

START = (protocol(), metadata())


@pytest.fixture
def folder(tmp_path: Path) -> DeltaFolder:
    return DeltaFolder(tmp_path / "orders")


def written(folder: DeltaFolder, *commits: Action, first: int = 1) -> DeltaFolder:
    """The table, with one action in each commit after the first one."""
    for version, action in enumerate(commits, first):
        folder.commit(version, action, modified=1_700_000_000_000 + version)
    return folder


def created(folder: DeltaFolder, *actions: Action) -> DeltaFolder:
    folder.commit(0, *(actions or START), modified=1_700_000_000_000)
    return folder


async def listed(folder: DeltaFolder, start: int = 0, limit: int = 100) -> list[DescribedVersion]:
    table, directory = folder.table(), folder.directory
    newest = await latest(folder)
    return list(await DeltaFormat().earlier_versions(table, directory, newest, start, limit))


def numbers(found: list[DescribedVersion]) -> list[int]:
    return [each.version for each in found]


async def test_each_version_is_described_as_it_is_read(folder: DeltaFolder) -> None:
    written(created(folder), add("a"), metadata(x="1"), add("b"), protocol(2), add("c"))
    found = await listed(folder)
    assert numbers(found) == [0, 1, 2, 3, 4]
    for each in found:
        assert each == DescribedVersion.of(await at_version(folder, each.version))


async def test_versions_of_equal_metadata_share_it(folder: DeltaFolder) -> None:
    written(created(folder), add("a"), add("b"), metadata(x="1"), add("c"))
    found = await listed(folder)
    assert found[0].metadata is found[1].metadata is found[2].metadata
    assert found[2].metadata is not found[3].metadata


@pytest.mark.parametrize(
    ("start", "limit", "expected"),
    [(0, 2, [2, 3]), (2, 9, [2, 3]), (3, 1, [3]), (4, 9, []), (9, 9, []), (0, 4, [0, 1, 2, 3])],
)
async def test_the_newest_versions_from_the_first_shared_one_are_listed(
    folder: DeltaFolder, start: int, limit: int, expected: list[int]
) -> None:
    written(created(folder), add("a"), add("b"), add("c"), add("d"))
    assert numbers(await listed(folder, start, limit)) == expected


async def test_versions_without_their_commits_are_left_out(folder: DeltaFolder) -> None:
    written(created(folder), add("a"), add("b"), add("c"), add("d"))
    folder.parquet(f"{2:020}.checkpoint.parquet", [*START, add("a"), add("b")])
    for version in (0, 1):
        (folder.log / f"{version:020}.json").unlink()
    assert numbers(await listed(folder)) == [2, 3]
    (folder.log / f"{2:020}.json").unlink()
    assert numbers(await listed(folder)) == [3]


async def test_nothing_is_listed_if_only_a_checkpoint_is_left(folder: DeltaFolder) -> None:
    written(created(folder), add("a"))
    folder.parquet(f"{1:020}.checkpoint.parquet", [*START, add("a")])
    for version in (0, 1):
        (folder.log / f"{version:020}.json").unlink()
    assert await listed(folder) == []


async def test_only_commits_of_a_limited_size_are_read(
    folder: DeltaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(created(folder), add("a"), add("b" * 900), add("c"), add("d"))
    monkeypatch.setattr(versions, "_MAX_BYTES", 600)
    assert numbers(await listed(folder)) == [3]


async def test_versions_that_cannot_be_read_are_left_out(folder: DeltaFolder) -> None:
    orc = {**metadata()["metaData"], "format": {"provider": "orc", "options": {}}}
    written(created(folder, protocol(), {"metaData": orc}), add("a"), metadata(), add("b"))
    assert numbers(await listed(folder)) == [2]


@pytest.mark.parametrize(
    ("first", "commit", "expected"),
    [
        (START, add("a"), [False, False]),
        (START, add("a", deletionVector=vector("v")), [False, True]),
        ((protocol(3, "deletionVectors"), metadata()), add("a"), [False, False]),
    ],
)
async def test_versions_from_the_first_one_on_tell_whether_they_have_deletion_vectors(
    folder: DeltaFolder, first: tuple[Action, ...], commit: Action, expected: list[bool]
) -> None:
    written(created(folder, *first), commit, add("b"))
    assert [each.deletion_vectors for each in await listed(folder)] == expected


async def test_earlier_files_might_have_deletion_vectors_if_the_latest_ones_have(
    folder: DeltaFolder,
) -> None:
    """A checkpoint has the files, and the protocol does not declare the feature."""
    marked = add("a", deletionVector=vector("x"))
    written(created(folder), add("b"), add("c"))
    folder.parquet(f"{1:020}.checkpoint.parquet", [*START, marked, add("b")])
    (folder.log / f"{0:020}.json").unlink()
    assert [each.deletion_vectors for each in await listed(folder, start=1)] == [True]


async def test_earlier_files_might_have_deletion_vectors_if_the_protocol_has_them(
    folder: DeltaFolder,
) -> None:
    written(created(folder, protocol(3, "deletionVectors"), metadata()), add("a"), add("b"), add("c"))
    assert [each.deletion_vectors for each in await listed(folder, start=1)] == [True, True]


async def test_timestamps_in_commits_count(folder: DeltaFolder) -> None:
    properties: Any = {"delta__enableInCommitTimestamps": "true"}
    info = [{"commitInfo": {"inCommitTimestamp": 1_600_000_000_000 + each}} for each in range(3)]
    folder.commit(0, info[0], protocol(), metadata(**properties))
    folder.commit(1, info[1], add("a"))
    folder.commit(2, info[2], add("b"))
    assert [each.timestamp for each in await listed(folder)] == [1_600_000_000_000, 1_600_000_000_001]


async def test_a_damaged_commit_is_named(folder: DeltaFolder) -> None:
    written(created(folder), add("a"), add("b"))
    newest = await latest(folder)
    (folder.log / f"{1:020}.json").write_text("{")
    with pytest.raises(TableUnreadable, match=f"{1:020}.json"):
        await DeltaFormat().earlier_versions(folder.table(), folder.directory, newest, 0, 9)
