"""When a refresh reads only changes, and when it rebuilds the copy."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sluicegate_spark.materialization.copy_state import Base, State, keyed_digest
from sluicegate_spark.materialization.incremental.rules import (
    MAX_COMMITS,
    MAX_FILES,
    MAX_REFRESHES,
    DeltaCommit,
    IcebergSnapshot,
    RebuildRequired,
    WayOfDelta,
    WayOfIceberg,
    continued,
    way_of_delta,
    way_of_iceberg,
)
from sluicegate_spark.materialization.incremental.source_version import SourceVersion

BASE = Base("basis", 3, "digest of 3")
MIB = 1024 * 1024
APPEND: dict[str, Any] = {"added": 1, "changed_bytes": 10}
DELETE: dict[str, Any] = {"operation": "DELETE", "removed": 1, "changed_bytes": 10}
COMPACTION: dict[str, Any] = {"operation": "OPTIMIZE", "changed_bytes": 1000 * MIB}


def commits(*given: dict[str, Any]) -> list[DeltaCommit]:
    """Return the commit at which the refresh begins, and those after it."""
    first = DeltaCommit(
        version=3,
        operation="WRITE",
        digest="digest of 3",
        added=1,
        removed=0,
        changed_bytes=0,
        changes_table=True,
        leads_elsewhere=False,
    )
    plain = replace(first, digest="", added=0, changes_table=False)
    later = [replace(plain, version=4 + number, **each) for number, each in enumerate(given)]
    return [first, *later]


@pytest.mark.parametrize(
    ("given", "has_feed", "way"),
    [
        ([], False, "nothing"),
        ([COMPACTION], False, "nothing"),
        ([COMPACTION], True, "nothing"),
        ([APPEND, COMPACTION, APPEND], False, "files"),
        ([APPEND], True, "feed"),
        ([APPEND, DELETE], True, "feed"),
        ([APPEND | {"changed_bytes": 64 * MIB}], True, "feed"),
        ([APPEND | {"added": MAX_FILES}], False, "files"),
        ([APPEND | {"added": MAX_FILES + 1}], True, "feed"),
    ],
)
def test_changes_of_a_delta_table_are_read_from_its_feed_or_its_added_files(
    given: list[dict[str, Any]], has_feed: bool, way: WayOfDelta
) -> None:
    assert way_of_delta(commits(*given), BASE, 100, has_feed=has_feed) == way


@pytest.mark.parametrize(
    ("given", "has_feed", "reason"),
    [
        ([APPEND, DELETE], False, "version 5 deleted or updated rows"),
        ([APPEND, {"changes_table": True}], True, "version 5 changed the source's columns"),
        ([{"operation": "RESTORE", "added": 1, "removed": 1}], True, "version 4 restored"),
        ([APPEND | {"leads_elsewhere": True}], True, "version 4 names files outside"),
        ([APPEND | {"changed_bytes": 64 * MIB + 1}], True, "67,108,865 bytes, more than a quarter"),
        ([APPEND | {"changed_bytes": 40 * MIB}] * 2, True, "more than a quarter"),
        ([APPEND | {"added": MAX_FILES + 1}], False, "more than 10,000 files"),
    ],
)
def test_other_changes_of_a_delta_table_rebuild_the_copy(
    given: list[dict[str, Any]], has_feed: bool, reason: str
) -> None:
    with pytest.raises(RebuildRequired, match=reason):
        way_of_delta(commits(*given), BASE, 100 * MIB, has_feed=has_feed)


def test_what_is_large_depends_on_the_size_of_the_table() -> None:
    changed = commits(APPEND | {"changed_bytes": 100 * MIB})
    assert way_of_delta(changed, BASE, 400 * MIB, has_feed=True) == "feed"
    with pytest.raises(RebuildRequired, match="more than a quarter"):
        way_of_delta(changed, BASE, 400 * MIB - 4, has_feed=True)


def test_a_version_that_is_another_one_than_was_copied_rebuilds_the_copy() -> None:
    with pytest.raises(RebuildRequired, match="version 3 of the source is not the one"):
        way_of_delta(commits(), replace(BASE, commit="another"), 100, has_feed=True)


def snapshots(*operations: str, **every: Any) -> dict[int, IcebergSnapshot]:
    """Return snapshots 1, 2, … with these operations, each the parent of the next."""
    plain = IcebergSnapshot(1, None, "append", 10, 100, has_deletes=False)
    return {
        number: replace(plain, id=number, parent=number - 1 or None, operation=operation, **every)
        for number, operation in enumerate(operations, 1)
    }


@pytest.mark.parametrize(
    ("operations", "way"),
    [
        (["append"], "nothing"),
        (["append", "replace"], "nothing"),
        (["delete", "append", "replace", "append"], "appends"),
        (["append", "append", "overwrite"], "changelog"),
        (["append", "delete"], "changelog"),
    ],
)
def test_changes_of_an_iceberg_table_are_read_by_the_operations_of_its_snapshots(
    operations: list[str], way: WayOfIceberg
) -> None:
    assert way_of_iceberg(snapshots(*operations), 1, len(operations)) == way


def test_delete_files_rebuild_the_copy_unless_rows_are_only_added() -> None:
    assert way_of_iceberg(snapshots("append", "append", has_deletes=True), 1, 2) == "appends"
    with pytest.raises(RebuildRequired, match="delete files"):
        way_of_iceberg(snapshots("append", "delete", has_deletes=True), 1, 2)
    known = snapshots("append", "delete")
    known[1] = replace(known[1], has_deletes=True)
    with pytest.raises(RebuildRequired, match="delete files"):
        way_of_iceberg(known, 1, 2)


@pytest.mark.parametrize(
    ("known", "start", "reason"),
    [
        (snapshots("append", "append"), 7, "has expired, or was rolled back"),
        ({2: snapshots("append", "append")[2]}, 1, "has expired, or was rolled back"),
        ({}, 1, "has expired"),
        (snapshots(*["append"] * (MAX_COMMITS + 2)), 1, "more than 1,000 new snapshots"),
        (snapshots("append", "append", changed_bytes=64 * MIB + 1), 1, "more than a quarter"),
    ],
)
def test_other_snapshots_rebuild_the_copy(
    known: dict[int, IcebergSnapshot], start: int, reason: str
) -> None:
    with pytest.raises(RebuildRequired, match=reason):
        way_of_iceberg(known, start, max(known, default=2))


def test_a_refresh_continues_only_from_the_same_configuration_and_columns() -> None:
    assert continued(BASE, "basis") == BASE
    with pytest.raises(RebuildRequired, match="recorded no version"):
        continued(None, "basis")
    with pytest.raises(RebuildRequired, match="the configuration, the key, or the columns"):
        continued(BASE, "another")


def test_a_copy_is_rebuilt_after_many_incremental_refreshes() -> None:
    last = replace(BASE, refreshes=MAX_REFRESHES - 1)
    assert continued(last, "basis") == last
    with pytest.raises(RebuildRequired, match="had 50 incremental refreshes"):
        continued(replace(BASE, refreshes=MAX_REFRESHES), "basis")


def test_a_source_without_a_readable_version_rebuilds_the_copy() -> None:
    assert SourceVersion("t@3", "t", 3).readable() == 3
    with pytest.raises(RebuildRequired, match="is empty, or its columns have changed"):
        SourceVersion("t", "t", None).readable()


def test_a_commit_contains_the_state_of_the_copy() -> None:
    state = State("origin", datetime(2026, 11, 26, 9, tzinfo=UTC), replace(BASE, refreshes=2))
    assert State.parse(state.text()) == state
    assert State.parse(replace(state, base=None).text()) == replace(state, base=None)
    of_an_earlier_release = '{"sluicegate":{"origin":"o","refreshed_at":"2026-11-26T09:00:00+00:00"}}'
    assert State.parse(of_an_earlier_release) == State("o", state.refreshed_at)
    for text in (None, "", "{", "[]", '{"other": 1}', '{"sluicegate":{"origin":"o"}}'):
        assert State.parse(text) is None


def test_digests_of_the_state_need_the_key() -> None:
    assert keyed_digest(b"one", "x", 1) == keyed_digest(b"one", "x", 1)
    assert len({keyed_digest(key, part) for key in (b"one", b"two") for part in ("x", "y")}) == 4
