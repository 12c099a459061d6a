"""The worker reads short manifest lists itself, and leaves all others to the cluster."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from sluicegate_spark.purge import table_files as module
from sluicegate_spark.purge.table_files import few_manifests
from sluicegate_testing.servers.seaweedfs import SeaweedFS

from ..manifest_lists import encoded_list, write_list
from ..store_access import access_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running


def paths(server: SeaweedFS, *names: str) -> tuple[str, ...]:
    return tuple(f"s3://{server.bucket}/t/metadata/{name}.avro" for name in names)


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard"])
def test_manifests_are_distinct_and_sorted(server: SeaweedFS, codec: str) -> None:
    old, new, first = paths(server, "old", "new", "first")
    lists = [
        write_list(server, "few/1.avro", [old, new], codec),
        write_list(server, "few/2.avro", [new, new], codec),
    ]
    assert few_manifests(access_of(server), lists, [old, first]) == (first, new, old)


def test_a_table_without_snapshots_has_none(server: SeaweedFS) -> None:
    assert few_manifests(access_of(server), [], []) == ()


@pytest.mark.parametrize(
    "content",
    [None, b"", b"Obj\1", b"not Avro", encoded_list(["s3://a"])[:-9]],
    ids=["missing", "empty", "magic", "text", "truncated"],
)
def test_a_list_that_cannot_be_read_is_left_to_the_cluster(
    server: SeaweedFS, content: bytes | None
) -> None:
    good = write_list(server, "broken/1.avro", paths(server, "a"))
    bad = f"s3://{server.bucket}/broken/2.avro"
    if content is not None:
        server.put("broken/2.avro", content)
    assert few_manifests(access_of(server), [good, bad], []) is None


def test_a_manifest_that_is_not_granted_is_left_to_the_cluster(server: SeaweedFS) -> None:
    named = write_list(server, "foreign/1.avro", [*paths(server, "a"), "s3://other/b.avro"])
    assert few_manifests(access_of(server), [named], []) is None


def test_many_manifests_are_left_to_the_cluster(
    server: SeaweedFS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    monkeypatch.setattr(module, "_MOST_LISTS", 2)
    some = paths(server, "a", "b")
    lists = [write_list(server, f"many/{number}.avro", some) for number in range(3)]
    assert few_manifests(access_of(server), lists[:2], []) == some
    assert few_manifests(access_of(server), lists[:2], paths(server, "c")) is None
    assert few_manifests(access_of(server), lists, []) is None


def test_a_long_list_is_not_read(server: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> None:
    named = write_list(server, "long/1.avro", paths(server, "a"))
    monkeypatch.setattr(module, "_LONGEST", 50)
    assert few_manifests(access_of(server), [named], []) is None


def test_a_list_that_inflates_does_not_fill_the_memory(server: SeaweedFS) -> None:
    named = write_list(server, "inflated/1.avro", [f"s3://{server.bucket}/{'a' * (100 << 20)}"])
    tracemalloc.start()
    try:
        assert few_manifests(access_of(server), [named], []) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 << 20
