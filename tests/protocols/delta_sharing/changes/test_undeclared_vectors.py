"""Deletion vectors of tables whose protocol does not declare them: what the files have counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from protocols.delta_sharing.changes.logs import FEED, commit, full_remove
from protocols.delta_sharing.changes.test_features import BOTH
from support.clients.change_answers import FORMATS, ChangeAnswer, feed, stream
from support.clients.recipient import Recipient
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import Action, add, metadata, protocol
from support.tables.vectors import inline_vector

Ask = Callable[[SharedLake, LakeTable, dict[str, str]], httpx.Response]
OF_WRITER_4 = ["appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"]


def versions(reader: int, writer: int, **features: list[str]) -> Action:
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer, **features}}


# Protocols that do not declare the feature: reader and writer features of the answer.
UNDECLARED: dict[str, tuple[Action, list[str], list[str]]] = {
    "version 1": (versions(1, 4), ["deletionVectors"], [*OF_WRITER_4, "deletionVectors"]),
    "version 2": (
        versions(2, 5),
        ["columnMapping", "deletionVectors"],
        [*OF_WRITER_4, "columnMapping", "deletionVectors"],
    ),
    "writer features": (
        versions(1, 7, writerFeatures=["changeDataFeed"]),
        ["deletionVectors"],
        ["changeDataFeed", "deletionVectors"],
    ),
    "other features": (
        versions(3, 7, readerFeatures=["v2Checkpoint"], writerFeatures=["v2Checkpoint", "appendOnly"]),
        ["deletionVectors"],
        ["appendOnly", "deletionVectors", "changeDataFeed"],  # the last, as its property is set
    ),
}


def write(table: LakeTable, *head: Action) -> None:
    """A file of ten rows, of which version 1 deletes two by a vector, and version 2 one more."""
    table.root.mkdir()
    pq.write_table(pa.table({"id": range(10)}), table.root / "a.parquet")
    size = (table.root / "a.parquet").stat().st_size
    file = {"size": size, "stats": '{"numRecords":10}'}
    first, second = inline_vector([2, 5]), inline_vector([2, 5, 7])
    gone = full_remove("a.parquet")["remove"] | {"size": size}
    commit(table, 0, *head, add("a.parquet", **file))
    commit(table, 1, {"remove": gone}, add("a.parquet", **file, deletionVector=first))
    removed = {"remove": gone | {"deletionVector": first}}
    commit(table, 2, removed, add("a.parquet", **file, deletionVector=second))


def snapshot(
    lake: SharedLake, table: LakeTable, headers: dict[str, str], **body: Any
) -> httpx.Response:
    return lake.client().post(f"{table.path()}/query", json=body, headers=headers)


@pytest.mark.parametrize("case", UNDECLARED)
def test_a_request_for_parquet_is_refused_as_where_they_are_declared(
    lake: SharedLake, table: LakeTable, case: str
) -> None:
    declared = lake.table()
    write(table, UNDECLARED[case][0], metadata(**FEED))
    write(declared, protocol(3, "deletionVectors"), metadata(**FEED))
    asks: list[Ask] = [
        snapshot,
        lambda lake, table, headers: snapshot(lake, table, headers, version=1),
        lambda lake, table, headers: feed(lake, table, startingVersion=1, headers=headers),
        lambda lake, table, headers: stream(lake, table, startingVersion=0, headers=headers),
    ]
    for ask in asks:
        for capabilities in ("responseformat=parquet", "responseformat=delta"):
            headers = {"delta-sharing-capabilities": capabilities}
            refused, expected = ask(lake, table, headers), ask(lake, declared, headers)
            assert refused.status_code == expected.status_code == 400
            assert refused.json() == expected.json()
        assert ask(lake, table, {}).status_code == 400
        answered = ask(lake, table, BOTH).headers["delta-sharing-capabilities"]
        assert answered.startswith("responseformat=delta")


def test_versions_without_vectors_are_answered_in_parquet(lake: SharedLake, table: LakeTable) -> None:
    write(table, protocol(), metadata(**FEED))
    for answer in (
        snapshot(lake, table, {}, version=0),
        feed(lake, table, startingVersion=0, endingVersion=0),
        stream(lake, table, startingVersion=0, endingVersion=0),
    ):
        assert answer.status_code == 200
        assert "responseformat=parquet" in answer.headers["delta-sharing-capabilities"]


@pytest.mark.parametrize("case", UNDECLARED)
def test_the_answered_protocol_declares_them(lake: SharedLake, table: LakeTable, case: str) -> None:
    written, readers, writers = UNDECLARED[case]
    write(table, written, metadata(**FEED))
    expected = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": readers,
        "writerFeatures": writers,
    }
    for answer in (
        snapshot(lake, table, FORMATS["delta"]),
        lake.client().get(f"{table.path()}/metadata", headers=FORMATS["delta"]),
        feed(lake, table, form="delta", startingVersion=1),
        feed(lake, table, form="delta", startingVersion=1, includeHistoricalProtocol="true"),
        stream(lake, table, form="delta", startingVersion=0),
    ):
        line = json.loads(answer.text.splitlines()[0])
        assert line["protocol"]["deltaProtocol"] == expected


def test_historical_protocols_declare_them_where_files_have_them(
    lake: SharedLake, table: LakeTable
) -> None:
    write(table, protocol(), metadata(**FEED))
    gone = full_remove("a.parquet", deletionVector=inline_vector([2, 5, 7]))
    commit(table, 3, gone, add("b"))
    commit(table, 4, protocol(2), add("c"))
    commit(table, 5, protocol(1), add("d"))
    commit(table, 6, add("e", deletionVector=inline_vector([0])))

    def answered(**asked: Any) -> list[tuple[int, list[str] | None]]:
        asked |= {"includeHistoricalProtocol": True}
        answer = ChangeAnswer.of(stream(lake, table, form="delta", **asked))
        lines = [line["protocol"] for line in answer.lines if "protocol" in line]
        return [(line["version"], line["deltaProtocol"].get("readerFeatures")) for line in lines]

    vectors = ["deletionVectors"]
    assert answered(startingVersion=0) == [(0, vectors), (4, None), (5, vectors)]
    assert answered(startingVersion=4) == [(4, None), (5, vectors)]
    assert answered(startingVersion=4, endingVersion=5) == [(4, None), (5, None)]


@pytest.mark.parametrize("case", ["version 1", "writer features"])
def test_the_official_client_reads_none_of_the_deleted_rows(
    lake: SharedLake, table: LakeTable, case: str
) -> None:
    write(table, UNDECLARED[case][0], metadata(**FEED))
    recipient: Recipient = lake.recipient()
    live = [0, 1, 3, 4, 6, 8, 9]
    for use_delta_format in (None, True):
        assert sorted(recipient.read(table.name, use_delta_format=use_delta_format)["id"]) == live
    assert sorted(recipient.read(table.name, use_delta_format=True, version=1)["id"]) == [
        *live[:5],
        7,
        8,
        9,
    ]
    frame = recipient.changes(table.name, use_delta_format=True, starting_version=0)
    deleted = frame[frame["_change_type"] == "delete"]
    assert sorted(deleted["id"]) == [2, 5, 7]
