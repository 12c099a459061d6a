"""Removes of old writers, which say neither size nor partition values: their adds do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from protocols.delta_sharing.changes.logs import FEED, cdc, commit, full_remove
from support.clients.change_answers import ChangeAnswer, actions, feed, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import Action, add, metadata, protocol, remove

HEAD = [protocol(), metadata(partitioned_by=["country"], **FEED)]
A = add("country=DE/a", size=11, partitionValues={"country": "DE"})
B = add("country=FR/b%20c", size=12, partitionValues={"country": "FR"})
C = add("c", size=13, partitionValues={"country": None})
WAYS = {"feed": feed, "stream": stream}
Layout = Callable[[LakeTable], None]


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return WAYS[request.param]


def in_the_range(table: LakeTable) -> None:
    commit(table, 0, *HEAD)
    commit(table, 1, A, B)
    commit(table, 2, C)


def before_it(table: LakeTable) -> None:
    commit(table, 0, *HEAD, A, B)
    commit(table, 1)
    commit(table, 2, C)


def in_a_checkpoint(table: LakeTable) -> None:
    table.folder.parquet(f"{1:020}.checkpoint.parquet", [*HEAD, A, C])
    commit(table, 1)
    commit(table, 2, B)


def in_a_checkpoint_behind_which_they_were_moved(table: LakeTable) -> None:
    """What an earlier add says of the same path does not count."""
    table.folder.parquet(
        f"{0:020}.checkpoint.parquet", [*HEAD, add(A["add"]["path"]), add("country=FR/b%20c")]
    )
    commit(table, 0)
    commit(table, 1, add("c"))
    commit(table, 2, A, B, C)


def without_a_change_of_data(table: LakeTable) -> None:
    commit(table, 0, *HEAD, add("first", partitionValues={"country": "DE"}))
    moved = [{"add": {**each["add"], "dataChange": False}} for each in (A, B, C)]
    commit(table, 1, *moved, full_remove("first", dataChange=False))
    commit(table, 2)


def write(table: LakeTable, layout: Layout) -> None:
    """Whatever was before, version 3 removes three files, and 4 adds one of them again."""
    layout(table)
    commit(table, 3, remove(A["add"]["path"]), remove("country=FR/b%20c"), remove("c"))
    commit(table, 4, {"add": {**A["add"], "size": 21}})
    commit(table, 5, remove(A["add"]["path"]))


LAYOUTS = [
    in_the_range,
    before_it,
    in_a_checkpoint,
    in_a_checkpoint_behind_which_they_were_moved,
    without_a_change_of_data,
]
EXPECTED = [(3, 11, {"country": "DE"}), (3, 12, {"country": "FR"}), (3, 13, {"country": None})]
LATER = (5, 21, {"country": "DE"})


def removes(answer: ChangeAnswer, form: str) -> list[tuple[Any, ...]]:
    """Version, size and partition values, as lines of both formats have them."""
    if form == "parquet":
        lines = [line["remove"] for line in answer.lines if "remove" in line]
        return [(line["version"], line["size"], line["partitionValues"]) for line in lines]
    lines = [
        line["file"]
        for line in answer.lines
        if "remove" in line.get("file", {}).get("deltaSingleAction", {})
    ]
    found = [(line["version"], line["deltaSingleAction"]["remove"]) for line in lines]
    assert all(each["extendedFileMetadata"] is True for _, each in found)
    return [(version, each["size"], each["partitionValues"]) for version, each in found]


@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_their_lines_have_what_the_adds_say(
    lake: SharedLake, table: LakeTable, ask: Callable[..., Any], layout: Layout, form: str
) -> None:
    write(table, layout)
    for _ in range(2):
        answer = ChangeAnswer.of(ask(lake, table, form=form, startingVersion=3, endingVersion=3))
        assert removes(answer, form) == EXPECTED
    start = 1 if layout is not in_a_checkpoint else 2
    whole = ChangeAnswer.of(ask(lake, table, form=form, startingVersion=start))
    assert [each for each in removes(whole, form) if each[0] == 3] == EXPECTED
    last = ChangeAnswer.of(ask(lake, table, form=form, startingVersion=5))
    assert removes(last, form) == [LATER]


def test_partitions_that_are_not_shared_stay_hidden(
    lake: SharedLake, table: LakeTable, ask: Callable[..., Any]
) -> None:
    write(table, before_it)
    answer = ChangeAnswer.of(ask(lake, table, schema="german", startingVersion=3))
    assert removes(answer, "parquet") == [EXPECTED[0], LATER]


def test_pages_have_them(lake: SharedLake, table: LakeTable, ask: Callable[..., Any]) -> None:
    write(table, before_it)
    found, token = [], None
    for _ in range(4):
        more: dict[str, Any] = {} if token is None else {"pageToken": token}
        answer = ChangeAnswer.of(
            ask(lake, table, startingVersion=3, endingVersion=3, maxFiles=1, **more)
        )
        found += removes(answer, "parquet")
        token = answer.token
        if token is None:
            break
    assert found == EXPECTED


def test_a_range_is_refused_where_the_log_does_not_know_the_file_any_more(
    lake: SharedLake, table: LakeTable, ask: Callable[..., Any]
) -> None:
    table.folder.parquet(f"{3:020}.checkpoint.parquet", [*HEAD, B])
    commit(table, 2, add("no longer known"))
    commit(table, 3, remove("gone"))
    commit(table, 4, remove("country=FR/b%20c"))
    commit(table, 5, remove("never there"))
    commit(table, 6, C)
    for start, end, named in ((3, 3, 3), (3, 4, 3), (3, 6, 5), (4, 5, 5)):
        refused = ask(lake, table, startingVersion=start, endingVersion=end)
        assert (refused.status_code, refused.json()["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
        assert f"version {named} of the table removes files" in refused.json()["message"]
        assert f"a range that starts after version {named}" in refused.json()["message"]
    answer = ChangeAnswer.of(ask(lake, table, startingVersion=4, endingVersion=4))
    assert removes(answer, "parquet") == [(4, 12, {"country": "FR"})]
    assert ask(lake, table, startingVersion=6).status_code == 200


def test_a_feed_of_cdc_files_needs_no_removes(lake: SharedLake, table: LakeTable) -> None:
    table.folder.parquet(f"{3:020}.checkpoint.parquet", [*HEAD, B])
    commit(table, 3, remove("gone"), cdc("_change_data/x"))
    assert ChangeAnswer.of(feed(lake, table, startingVersion=3)).changed == [
        ("cdc", 3, "_change_data/x")
    ]
    assert stream(lake, table, startingVersion=3).status_code == 400


def test_removes_that_changed_no_data_are_no_obstacle(
    lake: SharedLake, table: LakeTable, ask: Callable[..., Any]
) -> None:
    table.folder.parquet(f"{3:020}.checkpoint.parquet", [*HEAD, B])
    commit(table, 3, remove("gone", dataChange=False), {"add": {**B["add"], "dataChange": False}})
    assert ChangeAnswer.of(ask(lake, table, startingVersion=3)).changed == []


@pytest.mark.parametrize("use_delta_format", [False, True])
def test_the_official_client_reads_a_feed_with_them(
    lake: SharedLake, table: LakeTable, use_delta_format: bool
) -> None:
    table.root.mkdir()
    files = {}
    for name, ids in (("a.parquet", [1, 2]), ("b.parquet", [2])):
        pq.write_table(pa.table({"id": ids}), table.root / name)
        size = (table.root / name).stat().st_size
        files[name] = add(name, size=size, stats=json.dumps({"numRecords": len(ids)}))
    # As writers declare it: the kernel wants to see the feature that the feed's property stands for.
    head: Action = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}
    commit(table, 0, head, metadata(**FEED), files["a.parquet"])
    commit(table, 1, remove("a.parquet"), files["b.parquet"])
    frame = lake.recipient().changes(table.name, use_delta_format=use_delta_format, starting_version=0)
    rows = sorted(zip(frame["_commit_version"], frame["_change_type"], frame["id"], strict=True))
    assert rows == [
        (0, "insert", 1),
        (0, "insert", 2),
        (1, "delete", 1),
        (1, "delete", 2),
        (1, "insert", 2),
    ]


def test_a_remove_says_what_the_log_does_not(lake: SharedLake, table: LakeTable) -> None:
    write(table, before_it)
    answer = ChangeAnswer.of(feed(lake, table, form="delta", startingVersion=5))
    (action,) = actions(answer)
    assert action["remove"].keys() == {
        "path", "partitionValues", "size", "deletionTimestamp", "dataChange", "extendedFileMetadata"
    }  # fmt: skip
