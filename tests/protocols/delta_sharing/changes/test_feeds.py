"""What a change data feed holds ("Read Change Data Feed from a Table")."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from protocols.delta_sharing.changes.logs import (
    FEED,
    cdc,
    commit,
    full_remove,
    timestamp,
    write_changing_table,
)
from support.clients.change_answers import FORMATS, ChangeAnswer, Said, actions, feed, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import add, metadata, protocol

FILES: list[Said] = [
    ("add", 0, "a"),
    ("add", 1, "b"),
    ("add", 1, "c"),
    ("cdc", 2, "_change_data/x"),
    ("cdc", 2, "_change_data/y"),
    ("remove", 3, "b"),
    ("add", 5, "f"),
    ("remove", 5, "d"),
]


def between(first: int, last: int) -> list[Said]:
    return [line for line in FILES if first <= line[1] <= last]


def at(version: int, seconds: int = 0) -> str:
    moment = datetime.fromtimestamp(timestamp(version) / 1000 + seconds, UTC)
    return moment.isoformat().replace("+00:00", "Z")


RANGES: list[tuple[dict[str, Any], int, int]] = [
    ({"startingVersion": 0}, 0, 5),
    ({"startingVersion": 2}, 2, 5),
    ({"startingVersion": 5}, 5, 5),
    ({"startingVersion": 0, "endingVersion": 0}, 0, 0),
    ({"startingVersion": 1, "endingVersion": 3}, 1, 3),
    ({"startingVersion": 4, "endingVersion": 4}, 4, 4),
    ({"startingVersion": 3, "endingVersion": 99}, 3, 5),
    ({"startingTimestamp": at(0)}, 0, 5),
    ({"startingTimestamp": at(0, -5)}, 0, 5),
    ({"startingTimestamp": at(1, 1)}, 2, 5),
    ({"startingTimestamp": at(1), "endingTimestamp": at(3)}, 1, 3),
    ({"startingTimestamp": at(1), "endingTimestamp": at(3, 59)}, 1, 3),
    ({"startingTimestamp": at(4), "endingTimestamp": "2200-01-01T00:00:00Z"}, 4, 5),
    ({"startingVersion": 1, "endingTimestamp": at(2, 1)}, 1, 2),
    ({"startingTimestamp": at(2, -1), "endingVersion": 2}, 2, 2),
]


@pytest.fixture(scope="module")
def changing(lake: SharedLake) -> LakeTable:
    table = lake.table()
    write_changing_table(table)
    return table


@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize(("asked", "first", "last"), RANGES, ids=str)
def test_a_range_is_returned_commit_by_commit(
    lake: SharedLake, changing: LakeTable, asked: dict[str, Any], first: int, last: int, form: str
) -> None:
    answer = ChangeAnswer.of(feed(lake, changing, form=form, **asked))
    assert answer.said == [("protocol",), ("metaData", 5), *between(first, last)]
    assert answer.headers["delta-table-version"] == str(first)
    assert answer.headers["delta-sharing-capabilities"] == f"responseformat={form}"
    assert answer.end is None


def test_a_start_by_time_begins_with_the_first_shared_version(
    lake: SharedLake, changing: LakeTable
) -> None:
    for moment in ("2001-01-01T00:00:00Z", at(1), at(2)):
        answer = ChangeAnswer.of(feed(lake, changing, schema="recent", startingTimestamp=moment))
        assert answer.headers["delta-table-version"] == "2"
        versions = {line[1] for line in answer.changed}
        assert min(versions) == 2
    later = ChangeAnswer.of(feed(lake, changing, schema="recent", startingTimestamp=at(3)))
    assert later.headers["delta-table-version"] == "3"


def test_files_whose_log_says_no_time_are_answered_with_one(lake: SharedLake, table: LakeTable) -> None:
    added, removed = add("a"), full_remove("a")
    del added["add"]["modificationTime"], removed["remove"]["deletionTimestamp"]
    commit(table, 0, protocol(), metadata(**FEED), added)
    commit(table, 1, removed)
    first, second = actions(ChangeAnswer.of(feed(lake, table, form="delta", startingVersion=0)))
    assert first["add"]["modificationTime"] == 0
    assert "deletionTimestamp" not in second["remove"]


def test_the_members_of_lines_in_parquet_format(lake: SharedLake, changing: LakeTable) -> None:
    answer = ChangeAnswer.of(feed(lake, changing, startingVersion=1, endingVersion=3))
    assert answer.lines[0] == {"protocol": {"minReaderVersion": 1}}
    assert answer.lines[1]["metaData"]["configuration"] == {"enableChangeDataFeed": "true"}
    lines = [next(iter(line.items())) for line in answer.lines[2:]]
    for kind, value in lines:
        assert value.pop("url").startswith("http")
        assert value.pop("expirationTimestamp") > timestamp(5)
        assert kind in ("add", "cdf", "remove")
    plain: dict[str, Any] = {"partitionValues": {}, "size": 10, "timestamp": timestamp(1), "version": 1}
    second = {"timestamp": timestamp(2), "version": 2, "size": 7}
    third = {"timestamp": timestamp(3), "version": 3}
    assert lines == [
        ("add", {**plain, "id": md5("b"), "stats": '{"numRecords":1}'}),
        ("add", {**plain, "id": md5("c")}),
        ("cdf", {**plain, **second, "id": md5("_change_data/x")}),
        ("cdf", {**plain, **second, "id": md5("_change_data/y")}),
        ("remove", {**plain, **third, "id": md5("b")}),
    ]


def test_the_members_of_lines_in_delta_format(lake: SharedLake, changing: LakeTable) -> None:
    answer = ChangeAnswer.of(feed(lake, changing, form="delta", startingVersion=1, endingVersion=3))
    for line in answer.lines[2:]:
        assert line["file"].keys() == {
            "id", "version", "timestamp", "expirationTimestamp", "deltaSingleAction"
        }  # fmt: skip
        assert line["file"]["timestamp"] == timestamp(line["file"]["version"])
    assert answer.lines[2]["file"]["id"] == hashlib.sha256(b"b").hexdigest()
    said = actions(answer)
    for action in said:
        next(iter(action.values())).pop("path")
    added = {"partitionValues": {}, "size": 10, "modificationTime": 5, "dataChange": True}
    removed = {"partitionValues": {}, "size": 10, "deletionTimestamp": 6, "dataChange": True}
    changed = {"partitionValues": {}, "size": 7, "dataChange": False}
    assert said == [
        {"add": {**added, "stats": '{"numRecords":1}'}},
        {"add": added},
        {"cdc": changed},
        {"cdc": changed},
        {"remove": {**removed, "extendedFileMetadata": True}},
    ]


@pytest.mark.parametrize(("asked", "digest"), [("Delta", hashlib.sha256), ("parquet", hashlib.md5)])
def test_file_ids_are_hashed_as_requested(
    lake: SharedLake, changing: LakeTable, asked: str, digest: Any
) -> None:
    response = feed(lake, changing, startingVersion=3, headers={"fileidhash": asked})
    answer = ChangeAnswer.of(response)
    assert answer.lines[2]["remove"]["id"] == digest(b"b").hexdigest()
    assert answer.headers["fileidhash"] == asked.lower()


def test_an_end_is_sent_to_clients_that_ask_for_one(lake: SharedLake, changing: LakeTable) -> None:
    wanted = {"delta-sharing-capabilities": "includeEndStreamAction=true"}
    answer = ChangeAnswer.of(feed(lake, changing, startingVersion=3, headers=wanted))
    assert answer.end is not None
    assert answer.end == {"minUrlExpirationTimestamp": answer.lines[2]["remove"]["expirationTimestamp"]}
    assert answer.headers["delta-sharing-capabilities"] == (
        "responseformat=parquet;includeendstreamaction=true"
    )


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (("0", "0", "0"), []),
        (("0", "1", "0"), ["add", "remove"]),
        (("0", "0"), ["add", "remove"]),
    ],
)
def test_a_merge_that_changed_no_row_has_an_empty_feed(
    lake: SharedLake, table: LakeTable, metrics: tuple[str, ...], expected: list[str]
) -> None:
    names = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
    counted = dict(zip(names, metrics, strict=False))
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    info = {"commitInfo": {"operation": "MERGE", "operationMetrics": counted}}
    commit(table, 1, info, add("b"), full_remove("a"))
    answer = ChangeAnswer.of(feed(lake, table, startingVersion=1))
    assert [kind for kind, *_ in answer.changed] == expected


@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_historical_metadata_comes_before_the_files_of_its_version(
    lake: SharedLake, table: LakeTable, form: str
) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, add("b"), metadata(**FEED, comment="one"))
    commit(table, 2, add("c"))
    commit(table, 3, metadata(**FEED, comment="three"))
    asked: dict[str, Any] = {"startingVersion": 0, "form": form}
    answer = ChangeAnswer.of(feed(lake, table, **asked, includeHistoricalMetadata="True"))
    assert answer.said == [
        ("protocol",),
        ("metaData", 0),
        ("add", 0, "a"),
        ("metaData", 1),
        ("add", 1, "b"),
        ("add", 2, "c"),
        ("metaData", 3),
    ]
    without = ChangeAnswer.of(feed(lake, table, **asked, includeHistoricalMetadata="false"))
    assert without.said == [("protocol",), ("metaData", 3), *answer.changed]
    later = ChangeAnswer.of(feed(lake, table, startingVersion=2, includeHistoricalMetadata=True))
    assert later.said[1] == ("metaData", 2)


def test_historical_protocols_are_returned_in_delta_format_only(
    lake: SharedLake, table: LakeTable
) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, protocol(2), add("b"))
    commit(table, 2, protocol(3, "columnMapping", "deletionVectors"))
    asked: dict[str, Any] = {"startingVersion": 0, "includeHistoricalProtocol": "true"}
    answer = ChangeAnswer.of(feed(lake, table, form="delta", **asked))
    assert answer.said == [
        ("protocol", 0),
        ("metaData", 2),
        ("add", 0, "a"),
        ("protocol", 1),
        ("add", 1, "b"),
        ("protocol", 2),
    ]
    told = [line["protocol"]["deltaProtocol"] for line in answer.lines if "protocol" in line]
    assert [each.get("readerFeatures") for each in told] == [
        None,
        None,
        ["columnMapping", "deletionVectors"],
    ]
    parquet = ChangeAnswer.of(feed(lake, table, form="parquet", **asked))
    assert parquet.said == [("protocol",), ("metaData", 2), ("add", 0, "a"), ("add", 1, "b")]


def test_lines_keep_the_order_of_the_commit(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("z"), add("y"))
    commit(table, 1, full_remove("z"), add("b"), full_remove("y"), add("a"))
    commit(table, 2, cdc("q"), add("c"), cdc("p"))
    assert ChangeAnswer.of(feed(lake, table, startingVersion=0)).changed == [
        ("add", 0, "z"),
        ("add", 0, "y"),
        ("remove", 1, "z"),
        ("add", 1, "b"),
        ("remove", 1, "y"),
        ("add", 1, "a"),
        ("cdc", 2, "q"),
        ("cdc", 2, "p"),
    ]


def test_paths_are_decoded_once_and_signed(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("d=a%20b/x%2525.parquet"))
    assert ChangeAnswer.of(feed(lake, table, startingVersion=0)).changed == [
        ("add", 0, "d=a b/x%25.parquet")
    ]


def md5(path: str) -> str:
    return hashlib.md5(path.encode()).hexdigest()


def test_data_change_says_the_same_whatever_the_log_says(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, add("moved", dataChange=False), full_remove("a", dataChange=False))
    commit(table, 2, add("b"), full_remove("moved"))
    query = lake.client().post(f"{table.path()}/query", json={"version": 1}, headers=FORMATS["delta"])
    (moved,) = actions(ChangeAnswer.of(query))
    assert moved["add"]["dataChange"] is True
    for ask in (feed, stream):
        answer = ChangeAnswer.of(ask(lake, table, form="delta", startingVersion=0))
        assert answer.changed == [("add", 0, "a"), ("add", 2, "b"), ("remove", 2, "moved")]
        values = [value for action in actions(answer) for value in action.values()]
        assert all(value["dataChange"] is True for value in values)


@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_ids_are_hashes_of_paths_as_the_log_has_them(
    lake: SharedLake, table: LakeTable, form: str, checkpoint: bool
) -> None:
    inside = f"file:{table.root}/d%20e.parquet"
    paths = ["day=2024%2001%253A00/a%20b.parquet", "plain.parquet", inside]
    head = [protocol(), metadata(**FEED)]
    commit(table, 0, *head, *map(add, paths))
    if checkpoint:
        table.folder.parquet(f"{0:020}.checkpoint.parquet", [*head, *map(add, paths)])
        (table.folder.log / f"{0:020}.json").unlink()
    digest = hashlib.md5 if form == "parquet" else hashlib.sha256
    expected = {digest(path.encode()).hexdigest() for path in paths}
    asked = lake.client().post(f"{table.path()}/query", json={}, headers=FORMATS[form])
    assert {json.loads(line)["file"]["id"] for line in asked.text.splitlines()[2:]} == expected
    if not checkpoint:
        answer = ChangeAnswer.of(feed(lake, table, form=form, startingVersion=0))
        found = [next(iter(line.values()))["id"] for line in answer.lines[2:]]
        assert set(found) == expected
