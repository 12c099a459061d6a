"""Deletion in batches: deleted objects are counted, and remaining ones are reported."""

from __future__ import annotations

import time
from collections.abc import Iterator

import obstore
import pytest

from sluicegate_spark.purge.deletion import Deletion, delete_objects
from sluicegate_testing.servers.refusing_store import RefusingStore, refusing_store
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from ..store_access import access_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


@pytest.fixture
def proxy(server: SeaweedFS) -> Iterator[RefusingStore]:
    with refusing_store(server) as running:
        yield running


def write(server: SeaweedFS, folder: str, names: list[str]) -> list[str]:
    """Write objects of ten bytes, and return their sorted locations."""
    for name in names:
        server.put(f"{folder}/{name}", b"ten bytes.")
    return sorted(f"s3://{server.bucket}/{folder}/{name}" for name in names)


def names_in(server: SeaweedFS, folder: str) -> list[str]:
    listing = obstore.list(server.store(), prefix=folder).collect()
    return sorted(each["path"].removeprefix(f"{folder}/") for each in listing)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_only_what_was_there_is_counted(server: SeaweedFS, scheme: str) -> None:
    names = [f"day=2026-01-{number:02}/a b%20c#{number}.parquet" for number in range(1, 30)]
    there = write(server, f"counted-{scheme}", names)
    write(server, f"counted-{scheme}", ["day=2026-01-05/another.parquet"])
    asked = [f"{scheme}{each.removeprefix('s3')}" for each in (*there, f"{there[-1]}-never-written")]
    done = delete_objects(access_of(server), asked)
    assert done == Deletion(seen=30, deleted=29, size=290)
    assert names_in(server, f"counted-{scheme}") == ["day=2026-01-05/another.parquet"]
    assert delete_objects(access_of(server), asked) == Deletion(seen=30)


def test_more_than_a_batch_among_many_others(server: SeaweedFS) -> None:
    ours = write(server, "among", [f"{number:04}.parquet" for number in range(0, 2400, 2)])
    others = [f"{number:04}.parquet" for number in range(1, 2400, 2)]
    write(server, "among", others)
    assert delete_objects(access_of(server), ours) == Deletion(seen=1200, deleted=1200, size=12_000)
    assert names_in(server, "among") == others


def test_a_store_that_lists_folder_by_folder_keeps_nothing(server: SeaweedFS) -> None:
    """SeaweedFS lists `r=EU/` before `r=EU-WEST/`, although `-` sorts before `/`."""
    regions = ("EU", "EU WEST", "EU!", "EU-WEST", "EUX")
    names = [f"r={region}/{number}.parquet" for region in regions for number in range(3)]
    there = write(server, "folders", names)
    assert delete_objects(access_of(server), there) == Deletion(seen=15, deleted=15, size=150)
    assert names_in(server, "folders") == []


def test_few_objects_far_apart_are_looked_up_one_by_one(
    server: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate_spark.purge.deletion._LONGEST_LISTING", 2)
    monkeypatch.setattr("sluicegate_spark.purge.deletion.BATCH", 2)
    names = [f"{number:02}.parquet" for number in range(20)]
    there = write(server, "apart", names)
    assert delete_objects(access_of(server), [there[0], there[19]]).deleted == 2
    assert names_in(server, "apart") == names[1:19]


def test_what_the_store_refuses_is_left_and_reported(server: SeaweedFS, proxy: RefusingStore) -> None:
    there = write(server, "refused", [f"{number}.parquet" for number in range(9)])
    proxy.refuses = lambda key: key.endswith(("3.parquet", "4.parquet"))
    done = delete_objects(access_of(server, endpoint=proxy.endpoint), there)
    assert (done.seen, done.deleted, done.size, done.left) == (9, 7, 70, 2)
    assert done.example == f"s3://{server.bucket}/refused/3.parquet"
    assert "AccessDenied" in done.reason
    assert names_in(server, "refused") == ["3.parquet", "4.parquet"]
    proxy.refuses = lambda key: False
    assert delete_objects(access_of(server, endpoint=proxy.endpoint), there).deleted == 2


def test_a_slow_deletion_is_waited_for(server: SeaweedFS, proxy: RefusingStore) -> None:
    """A loaded store takes longer for 1,000 keys than a request of a recipient can take."""

    def accept_late(key: str) -> bool:
        time.sleep(5.5)
        return False

    (there,) = write(server, "slow", ["1.parquet"])
    proxy.refuses = accept_late
    done = delete_objects(access_of(server, endpoint=proxy.endpoint), [there])
    assert done == Deletion(seen=1, deleted=1, size=10)


def test_a_store_that_refuses_even_to_look_leaves_all(server: SeaweedFS) -> None:
    there = write(server, "unseen", ["1.parquet", "2.parquet"])
    done = delete_objects(access_of(server, identity=server.nobody), there)
    assert (done.seen, done.deleted, done.left, done.example) == (2, 0, 2, there[0])
    assert names_in(server, "unseen") == ["1.parquet", "2.parquet"]


@pytest.mark.parametrize(
    "odd", ["/odd/1.parquet", "odd//1.parquet", "odd/./1.parquet", "odd/1.parquet/"]
)
def test_a_name_of_no_object_deletes_no_other_one(server: SeaweedFS, odd: str) -> None:
    write(server, "odd", ["1.parquet"])
    done = delete_objects(access_of(server), [f"s3://{server.bucket}/{odd}"])
    assert (done.deleted, done.left) == (0, 1)
    assert names_in(server, "odd") == ["1.parquet"]
