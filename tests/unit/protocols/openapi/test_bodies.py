"""Request bodies are described as the gateway reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.clients.described import SCHEMAS, fits, operations, paths_below

from sluicegate.api import InvalidRequest
from sluicegate.api.conditions.expressions import UNKNOWN
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate.tables.predicates.hints import parse_json_hint

MEMBERS = SCHEMAS["Query"]["properties"]
COLUMN = {"op": "column", "name": "date", "valueType": "date"}
LITERAL = {"op": "literal", "value": "2021-01-01", "valueType": "date"}
EQUAL = {"op": "equal", "children": [COLUMN, LITERAL]}


def test_a_body_can_be_missing() -> None:
    described = operations(paths_below("/delta-sharing")).values()
    bodies = [each["requestBody"] for each in described if "requestBody" in each]
    assert len(bodies) >= 7
    assert not any(each["required"] for each in bodies)
    assert fits("Query", {})
    assert fits("Poll", {})


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_of_a_query_is_read(name: str) -> None:
    wrong = {name: [1]}
    assert not fits("Query", wrong)
    of_streams = name in ("startingVersion", "endingVersion", "includeHistoricalProtocol")
    read = ChangesRequest.of_stream if of_streams else QueryRequest.parse
    start = {"startingVersion": 0} if of_streams else {}
    with pytest.raises(InvalidRequest, match=f"^{name} "):
        read({**start, **wrong})


@pytest.mark.parametrize(
    ("query", "valid"),
    [
        ({"maxFiles": 1}, True),
        ({"maxFiles": 0}, False),
        ({"maxFiles": 2**31 - 1}, True),
        ({"maxFiles": 2**31}, False),
        ({"version": 0}, True),
        ({"version": -1}, False),
        ({"timestamp": "2022-01-01T00:00:00Z"}, True),
        ({"timestamp": "2022-01-01"}, False),
        ({"predicateHints": ["a = 1"], "limitHint": 10}, True),
        ({"includeRefreshToken": True}, True),
        ({"unknown": 1}, True),
    ],
)
def test_the_described_queries_are_those_that_are_accepted(query: dict[str, Any], valid: bool) -> None:
    assert fits("Query", query) is valid
    if valid:
        QueryRequest.parse(query)
    else:
        with pytest.raises(InvalidRequest):
            QueryRequest.parse(query)


def test_parts_of_a_response_are_requested_as_in_the_first_request() -> None:
    assert SCHEMAS["Poll"]["properties"] == {name: MEMBERS[name] for name in ("maxFiles", "pageToken")}
    assert not fits("Poll", {"maxFiles": 0})


@pytest.mark.parametrize(
    "predicate",
    [
        EQUAL,
        {"op": "not", "children": [EQUAL]},
        {"op": "isNull", "children": [COLUMN]},
        {"op": "and", "children": [EQUAL, {"op": "or", "children": [EQUAL, EQUAL, EQUAL]}]},
        *(
            {"op": op, "children": [COLUMN, LITERAL]}
            for op in ("lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual")
        ),
    ],
)
def test_described_predicates_are_understood(predicate: dict[str, Any]) -> None:
    assert fits("Predicate", predicate)
    assert parse_json_hint(json.dumps(predicate)) not in (None, UNKNOWN)


@pytest.mark.parametrize(
    "predicate",
    [
        {},
        {"op": "column", "name": "date"},
        {"op": "literal", "value": 1, "valueType": "int"},
        {"op": "column", "name": "a", "valueType": "decimal"},
        {"op": "equal", "children": [COLUMN]},
        {"op": "equal", "children": [COLUMN, LITERAL, LITERAL]},
        {"op": "not", "children": [EQUAL, EQUAL]},
        {"op": "and", "children": [EQUAL]},
        {"op": "like", "children": [COLUMN, LITERAL]},
        {"op": "and", "children": [EQUAL, {"op": "like"}]},
    ],
)
def test_other_predicates_are_not_described(predicate: dict[str, Any]) -> None:
    assert not fits("Predicate", predicate)
