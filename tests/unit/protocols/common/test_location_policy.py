"""Which files the log of a table is allowed to name by absolute paths."""

from __future__ import annotations

import pytest
from support.gateways.in_memory import InMemory
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogTable, UnsupportedOperation
from sluicegate.protocols.common.location_policy import LocationPolicy, is_inside, without_nested


def policy(*absolute_paths: str) -> LocationPolicy:
    return LocationPolicy(InMemory(absolute_paths=absolute_paths).instances)


def table(location: str = f"{LAKE}/t", *auxiliary: str) -> CatalogTable:
    return CatalogTable("1", "delta", location, auxiliary)


@pytest.mark.parametrize(
    ("location", "directory", "expected"),
    [
        ("s3://lake/t", "s3://lake/t", True),
        ("s3://lake/t/", "s3://lake/t", True),
        ("s3://lake/t", "s3://lake/t/", True),
        ("s3://lake/t/a/b.parquet", "s3://lake/t", True),
        ("s3://lake/t2", "s3://lake/t", False),
        ("s3://lake", "s3://lake/t", False),
        ("s3://lake2/t", "s3://lake/t", False),
        ("s3://LAKE/t", "s3://lake/t", False),
    ],
)
def test_inside_means_whole_names(location: str, directory: str, expected: bool) -> None:
    assert is_inside(location, directory) is expected


@pytest.mark.parametrize(
    ("directories", "expected"),
    [
        ([], []),
        (["b", "a"], ["b", "a"]),
        (["a/b", "a", "c"], ["a", "c"]),
        (["a", "a/b", "a/b/c"], ["a"]),
        (["a", "ab"], ["a", "ab"]),
        (["a", "a"], ["a"]),
    ],
)
def test_nested_directories_are_left_out(directories: list[str], expected: list[str]) -> None:
    assert list(without_nested(directories)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (table(), ("t",)),
        (table("mem://lake/t/"), ("t",)),
        (table(f"{LAKE}/t", f"{LAKE}/data/t/", "mem://lake/more"), ("t", "data/t", "more")),
        (table(f"{LAKE}/t", f"{LAKE}/t/data", f"{LAKE}/t"), ("t",)),
        (table(f"{LAKE}/t", f"{LAKE}/d/e", f"{LAKE}/d"), ("t", "d")),
    ],
)
def test_the_directories_of_a_table_are_canonical_and_not_nested(
    source: CatalogTable, expected: tuple[str, ...]
) -> None:
    assert policy().own(source) == tuple(f"{LAKE}/{name}" for name in expected)


@pytest.mark.parametrize(
    ("location", "expected"),
    [(f"{LAKE}/t/v1.json", True), ("mem://lake/t", True), (f"{LAKE}/data/t", False)],
)
def test_a_location_in_the_root(location: str, expected: bool) -> None:
    assert policy().in_root(table("mem://lake/t/", f"{LAKE}/data"), location) is expected


COVERED = [f"{LAKE}/t/a.parquet", "mem://lake/t/p=1/a", f"{LAKE}/data/t/a", f"{LAKE}/sources/s/a"]
NOT_COVERED = [
    *(f"{LAKE}/t2/a", f"{LAKE}/data/u/a", f"{LAKE}/sources2/a", "s3://other/t/a", f"{LAKE}/a"),
    *(f"{LAKE}/t/../u/a", f"{LAKE}/t/./a", f"{LAKE}/sources/../t2/a"),
]


@pytest.mark.parametrize("location", [*COVERED, *NOT_COVERED])
def test_covered_are_directories_of_the_table_and_those_of_the_storage(location: str) -> None:
    allowed = policy(f"{LAKE}/sources/")
    source = table(f"{LAKE}/t", f"{LAKE}/data/t")
    assert allowed.covers(source, location) is (location in COVERED)
    if location in COVERED:
        allowed.check(source, [location])
    else:
        with pytest.raises(UnsupportedOperation, match="outside of its own directories") as refused:
            allowed.check(source, [COVERED[0], location])
        assert refused.value.detail == location.rpartition("/")[0]
        assert location not in refused.value.message


def test_files_directly_in_the_root_are_allowed_and_so_are_none() -> None:
    policy().check(table(), [f"{LAKE}/t/a.parquet"])
    policy().check(table(), [])
