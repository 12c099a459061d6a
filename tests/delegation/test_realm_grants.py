"""What a realm is granted: locations have one spelling, and nothing is granted by default."""

from __future__ import annotations

import pytest

from sluicegate.api import InvalidRequest, RealmGrant, comparable_location

GRANTED = RealmGrant(frozenset({"TABLE_PURGE"}), frozenset({"lake"}), ("s3://lake/a/",))
UNLIMITED = RealmGrant(None, None, None)


def test_nothing_is_granted_by_default() -> None:
    grant = RealmGrant()
    assert not grant.allows_operation("TABLE_PURGE")
    assert not grant.allows_catalog("lake")
    assert not grant.allows_location("s3://lake/a/t", of_catalog=True)


@pytest.mark.parametrize(
    ("location", "granted"),
    [
        ("s3://lake/a", True),
        ("s3://lake/a/", True),
        ("s3a://lake/a/t/data/x=1 2/#part?.parquet", True),
        ("S3N://lake/a/t", True),
        ("s3://lake/ab", False),
        ("s3://lake/", False),
        ("s3://LAKE/a/t", False),
        ("s3://lake/a/../b", False),
        ("s3://lake/a/%2e%2E/b", False),
        ("s3://lake/a/.%2e%2fb", False),
        ("s3://lake/a/./b", False),
        ("s3://lake/a/%252e%252e/b", False),
        ("s3://lake/a/%25252525252e/b", False),
        ("s3://lake/a/..?b", False),
        ("s3://lake/a/..#b", False),
        ("s3://lake/a/x=50%25/part", True),
        ("s3://lake/a/t\n", False),
        ("s3://lake//a/t", False),
        ("s3://x@lake/a/t", False),
        ("s3:/lake/a/t", False),
        ("/lake/a/t", False),
        ("file:///lake/a/t", False),
        ("", False),
    ],
)
def test_a_location_is_granted_by_its_directory(location: str, granted: bool) -> None:
    assert GRANTED.allows_location(location, of_catalog=False) is granted
    assert GRANTED.allows_location(location, of_catalog=True) is granted


def test_without_grants_catalogs_say_where_tables_are_and_payloads_do_not() -> None:
    assert UNLIMITED.allows_operation("TABLE_PURGE")
    assert UNLIMITED.allows_catalog("lake")
    assert UNLIMITED.allows_location("s3://elsewhere/t", of_catalog=True)
    assert not UNLIMITED.allows_location("s3://elsewhere/t", of_catalog=False)


@pytest.mark.parametrize(
    ("location", "spelled"),
    [
        ("s3a://lake/t", "s3://lake/t/"),
        ("s3://lake", "s3://lake/"),
        ("gcs://lake/t//", "gs://lake/t/"),
        ("wasbs://c@Acme.blob.core.windows.net/t", "abfs://c@acme.dfs.core.windows.net/t/"),
        ("hdfs://name:8020/t", "hdfs://name:8020/t/"),
    ],
)
def test_locations_have_one_spelling(location: str, spelled: str) -> None:
    assert comparable_location(location) == spelled


def test_what_is_no_clear_location_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match=r"'lake/t' is not a location: it has no scheme"):
        comparable_location("lake/t")
    with pytest.raises(InvalidRequest, match="is ambiguous"):
        comparable_location("s3://lake/../t")
