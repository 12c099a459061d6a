"""Answers are what the gateway's OpenAPI document says of them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from protocols.delta_sharing.changes.logs import FEED, cdc, commit, full_remove
from support.clients.change_answers import DELTA, feed, stream
from support.clients.described import DOCUMENT, PATHS
from support.gateways.shared_lake import LakeTable, SharedLake
from support.tables.deltalog import Action, add, metadata, protocol, remove
from support.tables.vectors import inline_vector

WAYS = {"feed": (feed, "ChangesAnswer"), "stream": (stream, "QueryAnswer")}
PLAIN = [
    [protocol(), metadata(**FEED), add("a", stats="{}", tags={"k": "v"})],
    [metadata(**FEED, comment="x"), remove("a"), add("b"), full_remove("b")],
    [cdc("c", tags={"k": None}), add("d")],
    [protocol(2), metadata(**FEED)],
]
VECTORS = [
    [protocol(3, "deletionVectors"), metadata(**FEED), add("a", baseRowId=1)],
    [full_remove("a"), add("a", deletionVector=inline_vector([1]), clusteringProvider="liquid")],
    [protocol(3, "deletionVectors", "timestampNtz"), metadata(**FEED)],
]


@pytest.mark.parametrize(
    ("commits", "form"), [(PLAIN, "parquet"), (PLAIN, "delta"), (VECTORS, "delta")]
)
@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_line_is_documented(
    lake: SharedLake, table: LakeTable, way: str, commits: list[list[Action]], form: str
) -> None:
    for version, actions in enumerate(commits):
        commit(table, version, *actions)
    ask, schema = WAYS[way]
    asked: dict[str, Any] = {"startingVersion": 0, "includeHistoricalProtocol": "true"}
    if way == "feed":
        asked["includeHistoricalMetadata"] = "true"
    capabilities = (DELTA if form == "delta" else "") + ";includeendstreamaction=true"
    response = ask(lake, table, headers={"delta-sharing-capabilities": capabilities}, **asked)
    lines = [json.loads(text) for text in response.text.splitlines()]
    assert len(lines) > len(commits)
    known = {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]}
    jsonschema_rs.validator_for(known).validate(lines)


def test_every_parameter_is_documented() -> None:
    address = "/delta-sharing/shares/{share}/schemas/{schema}/tables/{table}/changes"
    named = {each["name"] for each in PATHS[address]["get"]["parameters"]}
    assert named >= {
        "startingVersion", "endingVersion", "startingTimestamp", "endingTimestamp", "maxFiles",
        "pageToken", "includeHistoricalMetadata", "includeHistoricalProtocol",
    }  # fmt: skip
