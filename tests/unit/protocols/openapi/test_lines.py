"""Responses about tables are described as arrays of their lines, in their order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.clients.described import SCHEMAS, fits

from sluicegate.protocols.delta_sharing.encoding import delta, parquet
from sluicegate.protocols.delta_sharing.encoding.ndjson import end_stream
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

TABLE = TableMetadata("id-1", '{"type":"struct","fields":[]}', (), {})
HEADS = {
    "parquet": [json.loads(parquet.protocol()), json.loads(parquet.metadata(TABLE))],
    "delta": [
        json.loads(delta.protocol(TableProtocol(1, 2))),
        json.loads(delta.metadata(TABLE, TableProtocol(1, 2))),
    ],
}
IDENTIFIED = {"url": "https://lake/a", "id": "0a", "expirationTimestamp": 3}
FILE = {"file": {**IDENTIFIED, "partitionValues": {}, "size": 1}}
CHANGED = {**IDENTIFIED, "version": 1, "timestamp": 2}
WRAPPED = {
    "file": {
        **{"id": "0a", "expirationTimestamp": 3},
        "deltaSingleAction": {"remove": {"path": "https://lake/a", "dataChange": True}},
    }
}
END = json.loads(end_stream(next_page_token="t", expires_at=1))


@pytest.mark.parametrize("form", HEADS)
def test_metadata_is_two_lines(form: str) -> None:
    head = HEADS[form]
    assert fits("MetadataAnswer", head)
    for wrong in ([], head[:1], head[::-1], [*head, END], [HEADS["delta"][0], HEADS["parquet"][1]]):
        assert not fits("MetadataAnswer", wrong)


@pytest.mark.parametrize(
    ("schema", "form", "lines", "valid"),
    [
        ("QueryAnswer", "parquet", [], True),
        ("QueryAnswer", "parquet", [FILE, FILE, END], True),
        ("QueryAnswer", "parquet", [{"add": CHANGED}, {"remove": CHANGED}], True),
        ("QueryAnswer", "parquet", [{"cdf": CHANGED}], False),
        ("QueryAnswer", "parquet", [WRAPPED], False),
        ("QueryAnswer", "parquet", [FILE | END], False),
        ("QueryAnswer", "delta", [WRAPPED, HEADS["delta"][1], HEADS["delta"][0], END], True),
        ("QueryAnswer", "delta", [FILE], False),
        ("ChangesAnswer", "parquet", [{"cdf": CHANGED}, HEADS["parquet"][1], {"add": CHANGED}], True),
        ("ChangesAnswer", "parquet", [FILE], False),
        ("ChangesAnswer", "delta", [WRAPPED, END], True),
        ("ChangesAnswer", "delta", [{"add": CHANGED}], False),
    ],
)
def test_lines_after_protocol_and_metadata(
    schema: str, form: str, lines: list[dict[str, Any]], valid: bool
) -> None:
    assert fits(schema, [*HEADS[form], *lines]) is valid
    assert not fits(schema, lines)


@pytest.mark.parametrize(
    ("status", "valid"),
    [
        ({"queryId": "q", "status": "pending"}, True),
        ({"queryId": "q", "status": "failed", "errorCode": "X", "errorMessage": "x"}, True),
        ({"queryId": "q", "status": "done"}, False),
        ({"status": "pending"}, False),
    ],
)
def test_the_state_of_a_query_is_the_only_line(status: dict[str, str], valid: bool) -> None:
    line = {"queryStatus": status}
    assert fits("QueryAnswer", [line]) is valid
    assert not fits("QueryAnswer", [line, line])
    assert not fits("QueryAnswer", [*HEADS["parquet"], line])
    assert not fits("ChangesAnswer", [line])


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ({}, True),
        ({"refreshToken": "r", "nextPageToken": "t", "minUrlExpirationTimestamp": 1}, True),
        ({"errorMessage": "down", "httpStatusErrorCode": 503}, True),
        ({"httpStatusErrorCode": 200}, False),
        ({"minUrlExpirationTimestamp": "soon"}, False),
    ],
)
def test_the_last_line(value: dict[str, Any], valid: bool) -> None:
    assert fits("EndStreamAction", value) is valid


def test_the_document_says_that_items_are_lines() -> None:
    responses = [SCHEMAS[f"{name}Answer"] for name in ("Metadata", "Query", "Changes")]
    assert all("one line of the NDJSON response" in each["description"] for each in responses)
