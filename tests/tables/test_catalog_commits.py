"""What counts is what the catalog says (Delta protocol, "Catalog-managed tables")."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tables.deltalog import Action, DeltaFolder, add, metadata, protocol
from support.tables.snapshots import latest, paths

from sluicegate.api import CatalogCommit, Unavailable

UUID = "016ae953-37a9-438e-8683-9a9a4a79a395"
HEAD = [protocol(3, "catalogManaged", "v2Checkpoint"), metadata(delta__enableInCommitTimestamps="true")]


def info(timestamp: int) -> Action:
    return {"commitInfo": {"inCommitTimestamp": timestamp}}


def staged(folder: DeltaFolder, version: int, *actions: Action) -> CatalogCommit:
    name = f"{version:020}.{UUID}.json"
    path: Path = folder.lines(f"_staged_commits/{name}", [info(version * 1000), *actions])
    return CatalogCommit(version, version * 1000, name, path.stat().st_size)


@pytest.fixture
def managed(folder: DeltaFolder) -> DeltaFolder:
    folder.commit(0, info(0), *HEAD, add("0"))
    folder.commit(1, info(1000), add("1"))
    return folder


async def test_ratified_commits_are_read_from_the_staging_area(managed: DeltaFolder) -> None:
    commits = (staged(managed, 2, add("2")), staged(managed, 3, add("3")))
    snapshot = await latest(managed, commits=commits, latest_version=3)
    assert (snapshot.version, snapshot.timestamp, paths(snapshot)) == (3, 3000, ["0", "1", "2", "3"])


async def test_a_staged_commit_wins_over_a_published_one(managed: DeltaFolder) -> None:
    managed.commit(2, info(2000), add("published"))
    commits = (staged(managed, 2, add("staged")),)
    assert paths(await latest(managed, commits=commits, latest_version=2)) == ["0", "1", "staged"]


async def test_nothing_above_the_catalogs_latest_version_counts(managed: DeltaFolder) -> None:
    managed.commit(2, info(2000), add("2"))
    managed.parquet(f"{2:020}.checkpoint.parquet", [*HEAD, add("checkpointed")])
    managed.hint('{"version": 2}')
    managed.compaction(1, 2, add("compacted"))
    ahead = (staged(managed, 3, add("3")),)
    snapshot = await latest(managed, commits=ahead, latest_version=1)
    assert (snapshot.version, paths(snapshot)) == (1, ["0", "1"])


async def test_the_first_commit_may_be_unpublished(folder: DeltaFolder) -> None:
    commits = (staged(folder, 0, *HEAD, add("0")),)
    assert paths(await latest(folder, commits=commits, latest_version=0)) == ["0"]


async def test_a_snapshot_is_advanced_by_ratified_commits(managed: DeltaFolder) -> None:
    first = await latest(managed, latest_version=1)
    assert await latest(managed, first, latest_version=1) is first
    commits = (staged(managed, 2, add("2")),)
    second = await latest(managed, first, commits=commits, latest_version=2)
    assert (second.version, second.timestamp, paths(second)) == (2, 2000, ["0", "1", "2"])
    managed.commit(2, info(2000), add("2"))
    managed.commit(3, info(3000), add("3"))
    third = await latest(managed, second, latest_version=3)
    assert paths(third) == ["0", "1", "2", "3"]


async def test_a_catalog_that_knows_of_nothing_new_saves_the_listing(managed: DeltaFolder) -> None:
    first = await latest(managed, latest_version=1)
    managed.log.rename(managed.root / "elsewhere")
    assert await latest(managed, first, latest_version=1) is first


async def test_a_staged_commit_that_vanished_is_a_retryable_error(managed: DeltaFolder) -> None:
    commits = (CatalogCommit(2, 2000, f"{2:020}.{UUID}.json", 10),)
    with pytest.raises(Unavailable, match="try again"):
        await latest(managed, commits=commits, latest_version=2)
