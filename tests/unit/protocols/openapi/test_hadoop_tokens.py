"""Requests for delegation tokens are described as they are read, and tokens as they are sent."""

from __future__ import annotations

from typing import Any

import pytest
from support.clients.described import SCHEMAS, fits, paths_below

from sluicegate.api import InvalidRequest
from sluicegate.protocols.delta_sharing.directory_access.hadoop_tokens import HadoopTokenBody
from sluicegate.protocols.delta_sharing.paths import PREFIX, TABLE

TOKEN: dict[str, Any] = {
    "service": "s3a://lake",
    "kind": "S3ADelegationToken/Session",
    "uuid": "7b1c8c0e-9d3f-4b7e-8a54-3c2f1f0f6a11",
    "expirationTime": 1_700_000_000_000,
    "tables": [{"name": "sales.eu.orders", "location": "s3a://lake/orders"}],
    "bonded": False,
    "token": "HgAAAA",
    "configuration": {"fs.s3a.bucket.lake.endpoint": "https://s3.example"},
}


@pytest.mark.parametrize("name", SCHEMAS["HadoopTokenRequest"]["properties"])
def test_every_member_of_a_request_is_read(name: str) -> None:
    assert not fits("HadoopTokenRequest", {name: [1]})
    with pytest.raises(InvalidRequest, match=name):
        HadoopTokenBody.parse({name: [1]})


@pytest.mark.parametrize(
    ("body", "valid"),
    [
        ({}, True),
        ({"hadoopVersion": "3.4.2", "binding": "role", "format": "protobuf"}, True),
        ({"format": "avro"}, False),
        ({"renewer": "r" * 1024, "origin": "o" * 1024}, True),
        ({"renewer": "r" * 1025}, False),
        ({"origin": "o" * 1025}, False),
        ({"tables": ["sales.eu.t"] * 100}, True),
        ({"tables": ["sales.eu.t"] * 101}, False),
        ({"tables": "sales.eu.t"}, False),
        ({"unknown": 1}, True),
    ],
)
def test_the_described_requests_are_those_that_are_accepted(body: dict[str, Any], valid: bool) -> None:
    assert fits("HadoopTokenRequest", body) is valid
    if valid:
        HadoopTokenBody.parse(body)
    else:
        with pytest.raises(InvalidRequest):
            HadoopTokenBody.parse(body)


def test_a_token_can_be_without_an_end_but_has_all_members() -> None:
    assert fits("HadoopTokens", {"tokens": [TOKEN], "file": "SERUUw=="})
    assert fits("HadoopToken", {**TOKEN, "expirationTime": None})
    for member in TOKEN:
        assert not fits("HadoopToken", {key: value for key, value in TOKEN.items() if key != member})
    assert not fits("HadoopToken", {**TOKEN, "tables": [{"name": "sales.eu.orders"}]})


def test_the_response_is_json_or_the_bytes_of_the_file() -> None:
    issue = paths_below(PREFIX)[f"{TABLE}/hadoop-delegation-token"]["post"]
    content = issue["responses"]["200"]["content"]
    assert content["application/json"]["schema"] == {"$ref": "#/components/schemas/HadoopTokens"}
    binary = {"type": "string", "format": "binary"}
    assert content["application/octet-stream"]["schema"] == binary
