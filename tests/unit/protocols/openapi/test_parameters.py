"""Parameters are described as the gateway reads them."""

from __future__ import annotations

from typing import Any

import pytest
from support.clients.described import fitting

from sluicegate.api import InvalidRequest, Principal
from sluicegate.protocols.common.pagination import PageRequest
from sluicegate.protocols.delta_sharing import capabilities
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.request import FILE_ID_HASH, ResponseOptions, TimeTravel
from sluicegate.protocols.openapi import parameters
from sluicegate.protocols.openapi.schemas import Schema, text

ACME = Principal("r1", "acme", "bearer")


def schemas(described: list[Schema]) -> dict[str, Schema]:
    return {each["name"]: each["schema"] for each in described}


def test_parameters_of_a_path_are_required_and_in_its_order() -> None:
    described = parameters.named(parameters.TABLE)
    assert [each["name"] for each in described] == ["share", "schema", "table"]
    assert {(each["in"], each["required"]) for each in described} == {("path", True)}


def test_parameters_of_other_kinds() -> None:
    schema = text("A text.")
    assert parameters.in_query("a", schema) == {
        **{"name": "a", "in": "query", "required": False, "schema": schema}
    }
    assert parameters.in_query("a", schema, required=True)["required"] is True
    assert parameters.in_header("a", schema) == {
        **{"name": "a", "in": "header", "required": False, "schema": schema}
    }


@pytest.mark.parametrize("size", [-1, 0, 500, 501])
def test_the_described_page_sizes_are_those_that_are_accepted(size: int) -> None:
    described = fitting(schemas(parameters.paged())["maxResults"])
    try:
        PageRequest.parse({"maxResults": str(size)}, ACME, "shares")
    except InvalidRequest:
        assert not described.is_valid(size)
    else:
        assert described.is_valid(size)


@pytest.mark.parametrize("name", schemas(parameters.changes()))
def test_every_parameter_of_a_change_feed_is_read(name: str) -> None:
    start = {} if name.startswith("starting") else {"startingVersion": "0"}
    wrong = "" if name == "pageToken" else "wrong"
    with pytest.raises(InvalidRequest, match=f"^{name} "):
        ChangesRequest.of_feed({**start, name: wrong})


@pytest.mark.parametrize("name", schemas(parameters.travel()))
def test_every_parameter_of_time_travel_is_read(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{name} "):
        TimeTravel.parse({name: "wrong"})


def test_the_start_of_versions_is_a_time() -> None:
    [(name, schema)] = schemas(parameters.starting()).items()
    assert name == "startingTimestamp"
    assert fitting(schema).is_valid("2022-01-01T00:00:00Z")
    assert not fitting(schema).is_valid("2022")


@pytest.mark.parametrize("value", ["parquet", "delta", "md5", ""])
def test_the_described_hashes_are_those_that_are_accepted(value: str) -> None:
    described = fitting(schemas(parameters.form())[FILE_ID_HASH])
    try:
        ResponseOptions.parse({FILE_ID_HASH: value})
    except InvalidRequest:
        assert not described.is_valid(value)
    else:
        assert described.is_valid(value)


def test_the_example_of_capabilities_is_understood() -> None:
    schema: dict[str, Any] = schemas(parameters.form())[capabilities.HEADER]
    [example] = schema["examples"]
    parsed = capabilities.parse(example)
    assert parsed.response_formats == ("delta", "parquet")
    assert parsed.reader_features == {"deletionvectors", "columnmapping"}
