"""Changes of tables with deletion vectors, column mapping and reader version 3."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
from protocols.delta_sharing.changes.logs import FEED, cdc, commit, full_remove
from support.clients.change_answers import DELTA, ChangeAnswer, actions, feed, stream
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import SCHEMA, Action, add, metadata, protocol
from support.tables.vectors import inline_vector, stored_vector

Ask = Callable[..., httpx.Response]
WAYS = {"feed": feed, "stream": stream}
VECTORS = protocol(3, "deletionVectors")
# As writers declare it: the kernel wants to see the feature that the feed's property stands for.
VECTORS["protocol"]["writerFeatures"] = ["deletionVectors", "changeDataFeed"]
BOTH = {"delta-sharing-capabilities": DELTA.replace("=delta;", "=delta,parquet;")}
MapVector = Callable[[Path, list[int]], dict[str, Any]]


def mapped(mode: str = "name", physical: str = "col-1", **configuration: str) -> Action:
    """Metadata whose one column has another name in the files."""
    action = metadata(**FEED, delta__columnMapping__mode=mode, **configuration)
    schema = json.loads(SCHEMA)
    schema["fields"][0]["metadata"] = {
        "delta.columnMapping.id": 1,
        "delta.columnMapping.physicalName": physical,
    }
    action["metaData"]["schemaString"] = json.dumps(schema)
    return action


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Ask:
    return WAYS[request.param]


def format_of(answer: ChangeAnswer) -> str:
    return answer.headers["delta-sharing-capabilities"].removeprefix("responseformat=")


def test_a_deletion_vector_is_answered_with_its_url(
    lake: SharedLake, table: LakeTable, ask: Ask
) -> None:
    table.root.mkdir()
    inline, stored = inline_vector([1]), stored_vector(table.root, [1, 2])
    commit(table, 0, VECTORS, metadata(**FEED), add("a"))
    commit(table, 1, full_remove("a"), add("a", deletionVector=inline))
    commit(table, 2, add("a", deletionVector=stored), full_remove("a", deletionVector=inline))
    answer = ChangeAnswer.of(ask(lake, table, form="delta", startingVersion=0))
    _, removed, added, newer, older = actions(answer)
    assert "deletionVector" not in removed["remove"]
    assert added["add"]["path"] == removed["remove"]["path"]
    assert newer["add"]["path"] == older["remove"]["path"]
    assert added["add"]["deletionVector"] == older["remove"]["deletionVector"] == inline
    vector = newer["add"]["deletionVector"]
    assert (vector["storageType"], vector["offset"], vector["cardinality"]) == ("p", 1, 2)
    assert httpx.get(vector["pathOrInlineDv"]).content[:1] == b"\1"
    ids = [line["file"].get("deletionVectorFileId") for line in answer.lines[2:]]
    assert [bool(each) for each in ids] == [False, False, True, True, True]
    assert ids[2] == ids[4] != ids[3]


def test_deleted_rows_are_never_answered_in_parquet_format(
    lake: SharedLake, table: LakeTable, ask: Ask
) -> None:
    commit(table, 0, VECTORS, metadata(**FEED), add("a"))
    commit(table, 1, full_remove("a"), add("a", deletionVector=inline_vector([1])))
    commit(table, 2, full_remove("a", deletionVector=inline_vector([1])))
    commit(table, 3, add("b"))
    for start, end in ((0, 3), (1, 1), (2, 2)):
        refused = ask(lake, table, startingVersion=start, endingVersion=end)
        assert refused.status_code == 400
        assert "responseformat=delta;readerfeatures=deletionvectors" in refused.json()["message"]
        either = ask(lake, table, startingVersion=start, endingVersion=end, headers=BOTH)
        assert format_of(ChangeAnswer.of(either)) == "delta"
        unable = {"delta-sharing-capabilities": "responseformat=delta"}
        refused = ask(lake, table, startingVersion=start, endingVersion=end, headers=unable)
        assert "deletionVectors" in refused.json()["message"]
    for start, end in ((0, 0), (3, 3)):
        answer = ask(lake, table, startingVersion=start, endingVersion=end, headers=BOTH)
        assert format_of(ChangeAnswer.of(answer)) == "parquet"


def test_a_feed_of_cdc_files_needs_no_deletion_vectors(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, VECTORS, metadata(**FEED), add("a"))
    vector = inline_vector([1])
    commit(table, 1, full_remove("a"), add("a", deletionVector=vector), cdc("_change_data/x"))
    assert ChangeAnswer.of(feed(lake, table, startingVersion=0)).changed == [
        ("add", 0, "a"),
        ("cdc", 1, "_change_data/x"),
    ]
    assert stream(lake, table, startingVersion=0).status_code == 400


def test_the_one_protocol_line_covers_the_whole_range(
    lake: SharedLake, table: LakeTable, ask: Ask
) -> None:
    commit(table, 0, protocol(2), mapped(physical="id"), add("a"))
    commit(table, 1, protocol(3, "columnMapping", "deletionVectors"))
    commit(table, 2, full_remove("a"), add("a", deletionVector=inline_vector([0])))
    answer = ChangeAnswer.of(ask(lake, table, form="delta", startingVersion=0))
    assert answer.lines[0]["protocol"] == {
        "deltaProtocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["columnMapping", "deletionVectors"],
            "writerFeatures": ["columnMapping", "deletionVectors", "changeDataFeed"],
        }
    }


def test_a_feature_that_was_dropped_within_the_range_is_still_needed(
    lake: SharedLake, table: LakeTable, ask: Ask
) -> None:
    commit(table, 0, VECTORS, metadata(**FEED), add("a", deletionVector=inline_vector([0])))
    commit(table, 1, full_remove("a", deletionVector=inline_vector([0])), add("b"))
    commit(table, 2, protocol(), metadata(**FEED, comment="plain"))
    answer = ChangeAnswer.of(ask(lake, table, form="delta", startingVersion=0))
    assert answer.lines[0]["protocol"]["deltaProtocol"]["readerFeatures"] == ["deletionVectors"]
    assert ask(lake, table, startingVersion=0).status_code == 400
    assert ask(lake, table, startingVersion=2).status_code == 200


@pytest.mark.parametrize("mode", ["name", "id"])
def test_renamed_columns_need_delta_format(
    lake: SharedLake, table: LakeTable, ask: Ask, mode: str
) -> None:
    commit(table, 0, protocol(2), mapped(mode, "id"), add("a"))
    commit(table, 1, mapped(mode, "col-1"), add("b"))
    assert ask(lake, table, startingVersion=0, endingVersion=1).status_code == 400
    assert "columnMapping" in ask(lake, table, startingVersion=1).json()["message"]
    answer = ChangeAnswer.of(ask(lake, table, form="delta", startingVersion=1))
    assert (
        "delta.columnMapping.physicalName"
        in (answer.lines[1]["metaData"]["deltaMetadata"]["schemaString"])
    )


def test_mapped_columns_that_kept_their_names_can_be_expressed_in_parquet(
    lake: SharedLake, table: LakeTable, ask: Ask
) -> None:
    commit(table, 0, protocol(2), mapped(physical="id"), add("a"))
    answer = ChangeAnswer.of(ask(lake, table, startingVersion=0))
    assert "columnMapping" not in answer.lines[1]["metaData"]["schemaString"]


def test_later_features_do_not_hinder_an_older_range(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("a"))
    commit(table, 1, VECTORS)
    commit(table, 2, full_remove("a"), add("a", deletionVector=inline_vector([1])))
    plain = {"delta-sharing-capabilities": "responseformat=delta"}
    answer = ChangeAnswer.of(feed(lake, table, startingVersion=0, endingVersion=0, headers=plain))
    assert answer.said == [("protocol",), ("metaData", 2), ("add", 0, "a")]
    told = answer.lines[0]["protocol"]["deltaProtocol"]
    assert told["readerFeatures"] == []
    assert told["writerFeatures"] == ["changeDataFeed"]
    assert feed(lake, table, startingVersion=0, endingVersion=0).status_code == 200


def test_a_later_rename_does_not_hinder_an_older_range(lake: SharedLake, table: LakeTable) -> None:
    commit(table, 0, protocol(2), mapped(physical="id"), add("a"))
    renamed = mapped(physical="id")
    schema = json.loads(renamed["metaData"]["schemaString"])
    schema["fields"].append(
        {
            "name": "new",
            "type": "long",
            "nullable": True,
            "metadata": {
                "delta.columnMapping.id": 2,
                "delta.columnMapping.physicalName": "col-2",
            },
        }
    )
    renamed["metaData"]["schemaString"] = json.dumps(schema)
    commit(table, 1, renamed, add("b"))
    older = ChangeAnswer.of(feed(lake, table, startingVersion=0, endingVersion=0))
    assert older.said == [("protocol",), ("metaData", 0), ("add", 0, "a")]
    assert feed(lake, table, startingVersion=0).status_code == 400


def test_features_of_the_log_alone_are_no_hindrance(
    lake: SharedLake, table: LakeTable, ask: Ask
) -> None:
    commit(table, 0, protocol(3, "v2Checkpoint", "deletionVectors"), metadata(**FEED), add("a"))
    assert ask(lake, table, startingVersion=0).status_code == 200
    plain = {"delta-sharing-capabilities": "responseformat=delta"}
    answer = ChangeAnswer.of(ask(lake, table, startingVersion=0, headers=plain))
    assert answer.lines[0]["protocol"]["deltaProtocol"]["readerFeatures"] == []


@pytest.mark.parametrize("make", [lambda _, rows: inline_vector(rows), stored_vector])
def test_the_kernel_reads_rows_that_vectors_deleted(
    lake: SharedLake, table: LakeTable, make: MapVector
) -> None:
    table.root.mkdir()
    pq.write_table(pa.table({"id": range(10)}), table.root / "a.parquet")
    size = (table.root / "a.parquet").stat().st_size
    first, second = make(table.root, [2, 5]), make(table.root, [2, 5, 7])
    stats = {"size": size, "stats": '{"numRecords":10}'}
    removed = {"size": size, "partitionValues": {}, "extendedFileMetadata": True}
    commit(table, 0, VECTORS, metadata(**FEED), add("a.parquet", **stats))
    gone = full_remove("a.parquet")["remove"] | removed
    commit(table, 1, {"remove": gone}, add("a.parquet", **stats, deletionVector=first))
    commit(
        table,
        2,
        add("a.parquet", **stats, deletionVector=second),
        {"remove": gone | {"deletionVector": first}},
    )
    commit(table, 3, {"remove": gone | {"deletionVector": second}})
    frame = lake.recipient().changes(table.name, use_delta_format=True, starting_version=0)
    rows = sorted(zip(frame["_commit_version"], frame["_change_type"], frame["id"], strict=True))
    deleted = [(1, "delete", 2), (1, "delete", 5), (2, "delete", 7)]
    rest = [(3, "delete", row) for row in (0, 1, 3, 4, 6, 8, 9)]
    assert rows == [*((0, "insert", row) for row in range(10)), *deleted, *rest]


def test_the_client_learns_why_it_cannot_read_deleted_rows_in_parquet(
    lake: SharedLake, table: LakeTable
) -> None:
    commit(table, 0, VECTORS, metadata(**FEED), add("a", deletionVector=inline_vector([1])))
    with pytest.raises(requests.HTTPError, match="deletionVectors"):
        lake.recipient().changes(table.name, use_delta_format=False, starting_version=0)


def test_a_stream_that_breaks_midway_says_so(lake: SharedLake, table: LakeTable, ask: Ask) -> None:
    unknown = {**inline_vector([1]), "storageType": "?"}
    commit(table, 0, VECTORS, metadata(**FEED), *(add(f"{number}") for number in range(100)))
    commit(table, 1, add("a", deletionVector=unknown))
    headers = {"delta-sharing-capabilities": f"{DELTA};includeendstreamaction=true"}
    answer = ChangeAnswer.of(ask(lake, table, startingVersion=0, headers=headers))
    assert answer.end is not None
    assert "deletion vector" in answer.end["errorMessage"]
    assert answer.end["httpStatusErrorCode"] == 400
    assert len(answer.changed) == 64


def test_what_cannot_be_signed_at_first_is_an_error_of_its_own(
    lake: SharedLake, table: LakeTable, ask: Ask
) -> None:
    commit(table, 0, protocol(), metadata(**FEED), add("s3://elsewhere/a.parquet"))
    response = ask(lake, table, startingVersion=0)
    assert (response.status_code, response.json()["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
