"""Queries with a `startingVersion` ("Read Data from a Table", "Delta Sharing Streaming Specs")."""

from __future__ import annotations

from typing import Any

import pytest
from protocols.delta_sharing.changes.logs import (
    FEED,
    commit,
    full_remove,
    timestamp,
    write_changing_table,
)
from support.clients.change_answers import ChangeAnswer, Said, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import add, metadata, protocol

FILES: list[Said] = [
    ("add", 0, "a"),
    ("add", 1, "b"),
    ("add", 1, "c"),
    ("add", 2, "d"),
    ("remove", 2, "a"),
    ("remove", 3, "b"),
    ("add", 5, "f"),
    ("remove", 5, "d"),
]


@pytest.fixture(scope="module")
def changing(lake: SharedLake) -> LakeTable:
    table = lake.table()
    write_changing_table(table)
    return table


@pytest.mark.parametrize("schema", ["full", "history"])
@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize(("start", "end"), [(0, None), (0, 5), (1, 2), (4, 4), (5, 5)])
def test_adds_and_removes_that_changed_data_are_reported(
    lake: SharedLake, changing: LakeTable, start: int, end: int | None, form: str, schema: str
) -> None:
    asked: dict[str, Any] = {"startingVersion": start}
    if end is not None:
        asked["endingVersion"] = end
    answer = ChangeAnswer.of(stream(lake, changing, schema=schema, form=form, **asked))
    expected = [line for line in FILES if start <= line[1] <= (5 if end is None else end)]
    assert answer.said == [("protocol",), ("metaData", start), *expected]
    assert answer.headers["delta-table-version"] == str(start)


def test_the_feed_need_not_be_on(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(), add("a"))
    assert ChangeAnswer.of(stream(lake, table, schema="history", startingVersion=0)).changed == [
        ("add", 0, "a")
    ]


def test_hints_on_rows_are_ignored(lake: SharedLake, changing: LakeTable) -> None:
    hints: dict[str, Any] = {
        "limitHint": 0,
        "predicateHints": ["id = 1"],
        "jsonPredicateHints": '{"op":"isNull","children":[{"op":"column","name":"id"}]}',
    }
    answer = ChangeAnswer.of(stream(lake, changing, startingVersion=0, **hints))
    assert answer.changed == FILES


def test_a_stream_is_answered_at_once_though_the_client_could_wait(
    lake: SharedLake, changing: LakeTable
) -> None:
    can_wait = {"delta-sharing-capabilities": "asyncquery=true"}
    body: dict[str, Any] = {"startingVersion": 4, "idempotencyKey": "k"}
    answer = ChangeAnswer.of(stream(lake, changing, headers=can_wait, **body))
    assert answer.changed == FILES[-2:]


@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_changes_of_the_metadata_are_reported(lake: SharedLake, table: LakeTable, form: str) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, metadata(comment="the feed is off now"), add("b"))
    commit(table, 2, full_remove("b"))
    answer = ChangeAnswer.of(stream(lake, table, form=form, startingVersion=0))
    assert answer.said == [
        ("protocol",),
        ("metaData", 0),
        ("add", 0, "a"),
        ("metaData", 1),
        ("add", 1, "b"),
        ("remove", 2, "b"),
    ]
    later = ChangeAnswer.of(stream(lake, table, form=form, startingVersion=2))
    assert later.said == [("protocol",), ("metaData", 2), ("remove", 2, "b")]


def test_changes_of_the_protocol_are_reported_on_request(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(), add("a"))
    commit(table, 1, protocol(3, "deletionVectors"), add("b"))
    asked: dict[str, Any] = {"startingVersion": 0, "includeHistoricalProtocol": True}
    said = ChangeAnswer.of(stream(lake, table, form="delta", **asked)).said
    assert said == [("protocol", 0), ("metaData", 0), ("add", 0, "a"), ("protocol", 1), ("add", 1, "b")]
    parquet = ChangeAnswer.of(stream(lake, table, **asked)).said
    assert [kind for kind, *_ in parquet] == ["protocol", "metaData", "add", "add"]


def test_an_end_without_a_start_is_ignored(lake: SharedLake, changing: LakeTable) -> None:
    response = stream(lake, changing, endingVersion=1)
    assert response.status_code == 200
    assert response.headers["delta-table-version"] == "5"


def test_versions_are_dated_as_the_log_dates_them(lake: SharedLake, table: LakeTable) -> None:
    table.folder.commit(0, protocol(), metadata(), add("a"), modified=timestamp(9))
    table.folder.commit(1, add("b"), modified=timestamp(4))
    table.folder.commit(2, add("c"), modified=timestamp(20))
    for start in (0, 1, 2):
        lines = ChangeAnswer.of(stream(lake, table, startingVersion=start)).lines[2:]
        moments = [line["add"]["timestamp"] for line in lines]
        assert moments == [timestamp(9), timestamp(9) + 1, timestamp(20)][start:]


def test_versions_are_dated_by_their_own_word_where_they_have_one(
    lake: SharedLake, table: LakeTable
) -> None:
    dated = {"delta__enableInCommitTimestamps": "true"}
    since = {"delta__inCommitTimestampEnablementVersion": "1"}
    commit(table, 0, protocol(), metadata(), add("a"))
    info = {"commitInfo": {"inCommitTimestamp": 77_000}}
    commit(table, 1, info, metadata(**dated, **since), add("b"))
    lines = ChangeAnswer.of(stream(lake, table, startingVersion=0)).lines
    assert [line["add"]["timestamp"] for line in lines if "add" in line] == [timestamp(0), 77_000]
