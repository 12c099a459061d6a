"""Conversations of the Spark connector, request by request: a batch, a stream with restart, a feed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from protocols.delta_sharing.changes.logs import FEED, cdc, commit, full_remove
from support.clients.connector_log import check_timestamps, range_log, snapshot_log
from support.clients.spark_connector import Connector, Reply, spoken
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.delta_features import enabling, naming
from support.tables.deltalog import Action, add, metadata, protocol
from support.tables.vectors import inline_vector, stored_vector

BOTH = "parquet,delta"
PREDICATE = json.dumps(
    {
        "op": "greaterThan",
        "children": [
            {"op": "column", "name": "id", "valueType": "long"},
            {"op": "literal", "value": "0", "valueType": "long"},
        ],
    }
)
MANAGED = ("v2Checkpoint", "deletionVectors", "rowTracking", "inCommitTimestamp", "changeDataFeed")


def plain(table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a", stats='{"numRecords":1}'), add("b%20c"))


def with_vectors(table: LakeTable) -> None:
    table.root.mkdir()
    stored, inline = stored_vector(table.root, [1]), inline_vector([1, 2])
    commit(table, 0, naming(*MANAGED), enabling(*MANAGED), add("a", deletionVector=stored))
    commit(table, 1, add("b", deletionVector=inline, baseRowId=7, defaultRowCommitVersion=1))


def mapped(table: LakeTable) -> None:
    renamed = enabling("columnMapping", "changeDataFeed")
    name = '"delta.columnMapping.physicalName": '
    schema = renamed["metaData"]["schemaString"].replace(f'{name}"id"', f'{name}"c1"')
    renamed["metaData"]["schemaString"] = schema
    commit(table, 0, naming("columnMapping", "changeDataFeed"), renamed, add("a"), add("b"))


def upgrade(table: LakeTable, version: int) -> None:
    """What may happen while a stream runs: vectors are turned on, and used; a compaction."""
    features = ("deletionVectors", "v2Checkpoint", "changeDataFeed")
    first = version
    commit(table, first, add("d"), full_remove("a"))
    commit(table, first + 1, naming(*features), with_id(enabling(*features)), add("e"))
    vector = inline_vector([0])
    commit(table, first + 2, add("d", deletionVector=vector), full_remove("d"))
    commit(table, first + 3, add("f", dataChange=False), full_remove("e", dataChange=False))
    commit(table, first + 4, full_remove("d", deletionVector=vector))


def with_id(action: Action) -> Action:
    return {"metaData": {**action["metaData"], "id": "t"}}


TABLES: Mapping[str, tuple[Callable[[LakeTable], None], str]] = {
    "plain": (plain, "parquet"),
    "vectors": (with_vectors, "delta"),
    "mapped": (mapped, "delta"),
}


def connector(lake: SharedLake, table: LakeTable, formats: str, **options: Any) -> Connector:
    return Connector(lake.client(), table.path(), formats, **options)


def ids(reply: Reply) -> list[str]:
    """Of the files, in the order of the lines."""
    lines = [json.loads(line) for line in reply.lines[2:]]
    return [value["id"] for line in lines for value in line.values() if "id" in value]


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("max_files", [None, 1])
@pytest.mark.parametrize("name", TABLES)
def test_a_batch(
    lake: SharedLake, table: LakeTable, name: str, max_files: int | None, ended: bool
) -> None:
    write, expected = TABLES[name]
    write(table)
    described = connector(lake, table, BOTH).metadata()
    assert described.format == expected
    # The format is resolved by the metadata; all that follows asks for this one alone.
    reader = connector(lake, table, described.format, max_files=max_files, ended=ended)
    found = reader.files()
    assert (found.version, found.format) == (described.version, expected)
    assert spoken(found)[:2] == spoken(described)
    assert found.pages == (2 if max_files else 1)
    assert len(set(ids(found))) == len(ids(found)) == 2
    if expected == "delta":
        log = snapshot_log(found.lines)
        check_timestamps(log)
        assert set(ids(found)) <= log.urls.keys()
    commit(table, described.version + 1, add("later"))
    assert found.refresh_token is not None
    refreshed = reader.files(refresh_token=found.refresh_token)
    assert spoken(refreshed) == spoken(found)
    limited = reader.files(limit=1, predicates=["id > 0"], json_predicate=PREDICATE)
    assert set(ids(limited)) <= {*ids(found), *ids(reader.files())}
    assert len(ids(reader.files(version=described.version))) == 2


@pytest.mark.parametrize("max_files", [None, 1])
def test_a_stream_that_is_restarted(lake: SharedLake, table: LakeTable, max_files: int | None) -> None:
    plain(table)
    stream = connector(lake, table, "delta", max_files=max_files, ended=max_files is not None)
    described = stream.metadata()
    assert stream.version() == described.version == 0
    first = stream.files(version=0)
    snapshot_log(first.lines)
    assert first.refresh_token is None
    upgrade(table, 1)
    assert stream.version() == 5
    seen = stream.files_since(1, 3)
    check_timestamps(range_log(seen.lines, 1))
    # The driver was killed after it planned this batch: a new source asks for it again, and goes on.
    again = connector(lake, table, "delta", max_files=max_files, ended=max_files is not None)
    assert again.metadata().version == again.version() == 5
    assert spoken(again.files(version=0)) == spoken(first)
    assert spoken(again.files_since(1, 3)) == spoken(seen)
    log = range_log(again.files_since(4, 5).lines, 4)
    # The compaction changed no row. The source reads its version all the same, so the log has it.
    assert [next(iter(action)) for action in log.commits[4]] == ["metaData", "protocol"]
    assert [next(iter(action)) for action in log.commits[5]] == ["remove"]


def test_a_stream_in_parquet_format(lake: SharedLake, table: LakeTable) -> None:
    plain(table)
    stream = connector(lake, table, "parquet")
    assert stream.metadata().format == "parquet"
    assert len(ids(stream.files(version=stream.version()))) == 2
    commit(table, 1, add("d"), full_remove("a"))
    commit(table, 2, with_id(metadata(**FEED, comment="x")), add("e"))
    assert len(stream.files_since(1, 2).lines) == 6


@pytest.mark.parametrize("max_files", [None, 1])
@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_a_feed(lake: SharedLake, table: LakeTable, form: str, max_files: int | None) -> None:
    plain(table)
    commit(table, 1, full_remove("a"), add("x"), cdc("_change_data/1"), cdc("_change_data/2"))
    if form == "delta":
        upgrade(table, 2)
    last = connector(lake, table, BOTH).version()
    # The schema is that of the end of the range; a feed by version names both bounds.
    connector(lake, table, BOTH).metadata(version=last)
    reader = connector(lake, table, form, max_files=max_files, ended=max_files is not None)
    found = reader.changes(startingVersion=0, endingVersion=last)
    assert (found.version, found.format) == (0, form)
    kinds = [next(iter(line)) for line in spoken(found)]
    assert kinds.count("protocol") == (2 if form == "delta" else 1)
    if form == "delta":
        log = range_log(found.lines)
        check_timestamps(log)
        assert min(log.commits) == 0
        assert max(log.commits) == last
    assert spoken(reader.changes(startingVersion=0)) == spoken(found)
